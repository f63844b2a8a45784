// SPDX-License-Identifier: MIT
#include "check/lack_causes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "rootfs/layout.hpp"
#include "search/c_library.hpp"
#include "search/host_runtime.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace gpucontainer::check {

using linking::Lack;
using linking::Linked;
using model::Blocks;
using model::Causes;
using model::Finding;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::size_t most_named = 3; // symbols in a message

/// Libraries of compilers, which every distribution has in the directory of its C library.
bool is_of_compiler(std::string_view soname)
{
    constexpr std::array<std::string_view, 6> names = {"libstdc++.so",   "libgcc_s.so",
                                                       "libgomp.so",     "libgfortran.so",
                                                       "libquadmath.so", "libatomic.so"};
    return std::ranges::any_of(names,
                               [&](std::string_view name) { return soname.starts_with(name); });
}

std::string directory_of_c_library(const Linked& linked)
{
    const auto found = std::ranges::find(linked.objects, search::c_library, &linking::Object::name);
    return found == linked.objects.end() ? "" : std::string(base::directory_of(found->path));
}

/// Where a library should be that is nowhere: beside the C library if it comes with that or with a
/// compiler, else beside a library that needs it. What the program alone needs could be anywhere:
/// then the program is what shows it.
std::string expected_place(const Lack& lack, const Linked& linked)
{
    const std::string system = directory_of_c_library(linked);
    if (!system.empty() && (is_of_compiler(lack.name) || search::is_of_c_library(lack.name)))
        return base::format("{}/{}", system, lack.name);
    const std::string& program = linked.objects.front().path;
    for (const std::string& needer : lack.needed_by)
        if (needer != program && lack.name.find('/') == std::string::npos)
            return base::format("{}/{}", base::directory_of(needer), lack.name);
    return program;
}

/// "/usr/bin/app and 2 more need it"
std::string needers_of(const Lack& lack)
{
    const std::size_t more = lack.needed_by.size() - 1;
    return more == 0 ? base::format("{} needs it", lack.needed_by.front())
                     : base::format("{} and {} more need it", lack.needed_by.front(), more);
}

/// The version of the same kind that comes nearest to the one that is needed: "GLIBC_2.31".
std::string newest_there(linking::Linker& linker, const std::string& library,
                         const std::string& version)
{
    const auto* const versions = linker.files().versions_of(library);
    if (versions == nullptr)
        return "";
    return search::newest_of_kind({"", version}, *versions);
}

bool is_newer_version(const std::string& one, const std::string& other)
{
    return elf::compare_names(search::split_version(one).number,
                              search::split_version(other).number)
           > 0;
}

class LackCauses {
public:
    LackCauses(const Surroundings& around, linking::Linker& linker, const Linked& linked,
               Causes& causes)
        : around_(around), linker_(linker), linked_(linked), causes_(causes),
          program_(linked.objects.front().path)
    {
    }

    void run()
    {
        for (const Lack& lack : linked_.lacks)
            switch (lack.kind) {
            case Lack::Kind::interpreter:
                add_interpreter(lack);
                break;
            case Lack::Kind::library:
                add_library(lack);
                break;
            case Lack::Kind::machine:
                add({FindingCode::library_not_found, lack.name,
                     base::format("{}, and {} is for programs of another machine", needers_of(lack),
                                  lack.file),
                     lack.file,
                     lack.elsewhere.empty()
                         ? "install the library for the program's own architecture"
                         : base::format("{} is one for it: add its directory to LD_LIBRARY_PATH",
                                        lack.elsewhere)});
                break;
            case Lack::Kind::damaged:
                add({FindingCode::library_not_found, lack.name,
                     base::format("{}, and finds {}: {}", needers_of(lack), lack.file,
                                  lack.problem),
                     lack.file, "remove the file from the image, or install its package again"});
                break;
            case Lack::Kind::version:
                versions_.push_back(&lack);
                break;
            case Lack::Kind::symbol:
                symbols_.push_back(&lack);
                break;
            }
        add_versions();
        add_symbols();
    }

private:
    void add(Finding finding)
    {
        causes_.push_back({std::move(finding), Stage::start, Blocks::all});
    }

    /// If the image has a C library that the loader would be of, the loader is what is missing;
    /// else the program is for another image.
    void add_interpreter(const Lack& lack)
    {
        const elf::Machine* const machine =
            linking::machine_of(linker_.files().at(program_)->facts);
        const auto layout = machine != nullptr && lack.name == machine->loader
                                ? rootfs::library_directories(*machine)
                                : std::vector<std::string>();
        const auto home = std::ranges::find_if(layout, [&](const std::string& directory) {
            const auto* const file =
                linker_.files().at(base::format("{}/{}", directory, search::c_library));
            return file != nullptr && machine != nullptr && machine_is(*file, *machine);
        });
        if (home != layout.end())
            add({FindingCode::program_unstartable, program_,
                 base::format("cannot be started: its loader {} is missing, though the image has "
                              "the C library that it is of in {}",
                              lack.name, *home),
                 lack.name, "install the package of the C library whole"});
        else
            add({FindingCode::program_unstartable, program_,
                 base::format("cannot be started: it is made for the loader {}, and the image has "
                              "another C library or none",
                              lack.name),
                 program_, "use a program that was built for this image, or another image"});
    }

    static bool machine_is(const linking::File& file, const elf::Machine& machine)
    {
        return file.state == linking::File::State::good && elf::is_for(file.facts, machine);
    }

    bool is_of_32_bit() const
    {
        const auto* const file = linker_.files().at(program_);
        return file != nullptr && file->facts.elf_class == elf::Facts::Class::elf32;
    }

    void add_library(const Lack& lack)
    {
        if (const OfDriver ours = library_of_driver(around_, lack.name, is_of_32_bit())) {
            add_driver_library(lack, ours);
            return;
        }
        if (is_of_missing_driver(lack.name))
            return; // why the driver is missing has its own cause
        if (!lack.elsewhere.empty()) {
            const std::string directory(base::directory_of(lack.elsewhere));
            add({FindingCode::library_not_found, lack.name,
                 base::format("{}, and its loader does not look in {}, where it is",
                              needers_of(lack), directory),
                 lack.elsewhere,
                 base::format("run ldconfig in the image if its configuration has {0}, or add {0} "
                              "to LD_LIBRARY_PATH",
                              directory)});
            return;
        }
        const std::string beside = place_beside_needers(lack);
        if (!beside.empty()) {
            add({FindingCode::library_not_found, lack.name,
                 base::format("{}, and its loader does not look for it beside that, where "
                              "it is: a RUNPATH counts for its own file alone",
                              needers_of(lack)),
                 beside,
                 base::format("add {} to LD_LIBRARY_PATH, or give each library a RUNPATH of "
                              "$ORIGIN",
                              base::directory_of(beside))});
            return;
        }
        add({FindingCode::library_not_found, lack.name,
             base::format("{}, and the container does not have it", needers_of(lack)),
             expected_place(lack, linked_), "install the library's package in the image"});
    }

    /// Whether it is the library without which a driver of this host is not found.
    bool is_of_missing_driver(const std::string& name) const
    {
        return std::ranges::any_of(drivers::vendors(), [&](const drivers::Vendor& vendor) {
            return vendor.compat != nullptr && vendor.compat->library == name
                   && std::ranges::find(around_.drivers, vendor.name, &model::DriverStack::vendor)
                          == around_.drivers.end();
        });
    }

    std::string place_beside_needers(const Lack& lack) const
    {
        if (lack.name.find('/') != std::string::npos)
            return "";
        for (const std::string& needer : lack.needed_by) {
            std::string path = base::format("{}/{}", base::directory_of(needer), lack.name);
            const linking::File* const file = linker_.files().at(path);
            if (file != nullptr && file->state == linking::File::State::good)
                return path;
        }
        return "";
    }

    void add_driver_library(const Lack& lack, const OfDriver& ours)
    {
        if (around_.plan == nullptr)
            return; // why there is no plan has its own cause
        const std::string path = given_path(around_.plan, *ours.file);
        if (!path.empty() && around_.as_is) {
            add({FindingCode::library_not_found, lack.name,
                 base::format("{}, and the container does not have it, though the host's {} driver "
                              "does",
                              needers_of(lack), ours.driver->vendor_name),
                 expected_place(lack, linked_), "set the container up with gpuctr-setup --pid"});
            return;
        }
        if (!path.empty()) {
            add({FindingCode::library_not_found, lack.name,
                 base::format("{}, and its loader {} does not look in {}, where the "
                              "container gets it",
                              needers_of(lack), linked_.interpreter, base::directory_of(path)),
                 program_,
                 base::format("add {} to LD_LIBRARY_PATH of the container",
                              base::directory_of(path))});
            return;
        }
        NotGiven why = why_not_given(around_, ours);
        add({FindingCode::library_not_found, lack.name,
             base::format("{}, and it {}", needers_of(lack), why.reason),
             why.is_part ? lack.needed_by.front() : expected_place(lack, linked_),
             std::move(why.hint)});
    }

    /// One finding for each library and kind of version: a program that needs GLIBC_2.34 and
    /// GLIBC_2.35 needs the latter.
    void add_versions()
    {
        struct Group {
            std::string library;
            std::string kind;
            const Lack* newest;
        };
        std::vector<Group> groups;
        for (const Lack* lack : versions_) {
            const std::string kind(search::split_version(lack->name).kind);
            const auto same = std::ranges::find_if(groups, [&](const Group& group) {
                return group.library == lack->file && group.kind == kind
                       && is_program_among(*group.newest) == is_program_among(*lack);
            });
            if (same == groups.end())
                groups.push_back({lack->file, kind, lack});
            else if (is_newer_version(lack->name, same->newest->name))
                same->newest = lack;
        }
        for (const Group& group : groups) {
            const Lack& lack = *group.newest;
            const std::string& needer = lack.needed_by.front();
            // What the program needs, its image should have. A library of the image that needs more
            // than the rest of it has is the odd one.
            const bool is_hosts = !is_program_among(lack) && host_or(needer) != needer;
            Finding finding = version_finding(
                linker_, {needer, is_program_among(lack) ? lack.file : host_or(needer), lack.name,
                          lack.file, copy_with(lack)});
            if (is_hosts && !is_of_32_bit())
                add_host_remedy(around_, lack.file, finding);
            add(std::move(finding));
        }
    }

    /// Another copy of a library that has the version. Those of the C library do not count: all of
    /// it has to be of one version.
    std::string copy_with(const Lack& lack)
    {
        const std::string name(base::name_of(lack.file));
        const auto* const file = linker_.files().at(program_);
        return file == nullptr || search::is_of_c_library(name)
                   ? ""
                   : linker_.find_anywhere(name, file->facts, lack.name);
    }

    bool is_program_among(const Lack& lack) const
    {
        return std::ranges::find(lack.needed_by, program_) != lack.needed_by.end();
    }

    /// The path on the host of a file that the plan gives.
    std::string host_or(const std::string& path) const
    {
        if (around_.plan != nullptr)
            for (const plan::Item& item : around_.plan->items)
                if (const auto* const bind = item.as<plan::Bind>();
                    bind != nullptr
                    && around_.container.resolve(path).same_file(
                        {rootfs::EntryType::regular, bind->id.device, bind->id.inode}))
                    return bind->source;
        return path;
    }

    void add_symbols()
    {
        std::vector<std::string> needers;
        for (const Lack* lack : symbols_)
            if (std::ranges::find(needers, lack->needed_by.front()) == needers.end())
                needers.push_back(lack->needed_by.front());
        for (const std::string& needer : needers) {
            std::vector<std::string> names;
            std::size_t count = 0;
            for (const Lack* lack : symbols_)
                if (lack->needed_by.front() == needer && ++count <= most_named)
                    names.push_back(lack->name);
            add({FindingCode::symbol_not_found, needer,
                 base::format("wants {}{}, which no library that {} loads has",
                              base::joined(names, ", "), count > most_named ? " and others" : "",
                              program_),
                 needer, "use libraries of the same release as it was built with"});
        }
    }

    const Surroundings& around_;
    linking::Linker& linker_;
    const Linked& linked_;
    Causes& causes_;
    const std::string& program_;
    std::vector<const Lack*> versions_;
    std::vector<const Lack*> symbols_;
};

} // namespace

Finding version_finding(linking::Linker& linker, const VersionLack& lack)
{
    const std::string newest = newest_there(linker, lack.library, lack.version);
    const bool is_of_system = search::is_of_c_library(base::name_of(lack.library));
    return {FindingCode::version_not_found, lack.needed_by,
            base::format("needs {}, and {} has {}", lack.version, lack.library,
                         newest.empty() ? "no such version" : "nothing newer than " + newest),
            lack.evidence,
            !lack.elsewhere.empty() ? base::format(
                "{} has it: put its directory first in LD_LIBRARY_PATH", lack.elsewhere)
            : is_of_system
                ? "use an image with a newer C library, or a program that was built for this one"
                : "use an image with a newer version of this library"};
}

void add_host_remedy(const Surroundings& around, const std::string& library, Finding& finding)
{
    const std::string_view name = base::name_of(library);
    const bool may_be_hosts = search::is_of_c_library(name) || name.starts_with("libc-")
                              || search::is_of_compiler(name) || name.starts_with("libstdc++.so.6");
    if (may_be_hosts && !around.request.glibc.wanted && !around.as_is)
        finding.hint = base::format(
            "--glibc auto has programs of the container use the host's; or {}", finding.hint);
}

void add_lacks(const Surroundings& around, linking::Linker& linker, const Linked& linked,
               Causes& causes)
{
    if (!linked.objects.empty())
        LackCauses(around, linker, linked, causes).run();
}

} // namespace gpucontainer::check
