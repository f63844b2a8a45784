// SPDX-License-Identifier: MIT
#include "check/driver_libraries.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "check/lack_causes.hpp"
#include "drivers/registry.hpp"
#include "elf/ld_cache.hpp"
#include "rootfs/real_path.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace gpucontainer::check {

using linking::Lack;
using linking::Linker;
using linking::Way;
using model::Blocks;
using model::Cause;
using model::Causes;
using model::DriverFile;
using model::FindingCode;
using model::Stage;
using rootfs::Entry;

namespace {

constexpr const char* search_variable = "LD_LIBRARY_PATH";

const drivers::Compat* compat_of(const model::DriverStack& driver)
{
    const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
    return vendor != nullptr ? vendor->compat : nullptr;
}

/// Whether the driver's other libraries are of no use without it.
bool is_main(const OfDriver& library)
{
    const drivers::Compat* const compat = compat_of(*library.driver);
    return compat != nullptr && compat->library == library.file->soname;
}

bool is_loaded_by_name(const DriverFile& file)
{
    return file.kind == model::FileKind::library && !file.soname.empty()
           && (file.registered(model::Manner::beside_libraries) == nullptr
               || file.registered(model::Manner::loader) != nullptr);
}

std::vector<OfDriver> given_libraries(const Surroundings& around)
{
    std::vector<OfDriver> all;
    for (const model::DriverStack& driver : around.drivers)
        for (const DriverFile& file : driver.files)
            if (is_loaded_by_name(file) && !given_path(around.plan, file).empty())
                all.push_back({&driver, &file});
    return all;
}

/// Programs of this machine, as far as a loader distinguishes them.
elf::Facts facts_of(const elf::Machine& machine)
{
    elf::Facts facts;
    facts.elf_class = machine.elf_class;
    facts.byte_order = std::endian::little;
    facts.machine = machine.number;
    return facts;
}

const linking::Object* loaded_as(const LinkedProgram& program, const std::string& soname)
{
    const auto found = std::ranges::find(program.linked.objects, soname, &linking::Object::name);
    return found == program.linked.objects.end() ? nullptr : &*found;
}

/// Where the planned loader cache leads for each name: the driver's file, or the image's newer
/// copy that programs are to use.
class Expected {
public:
    explicit Expected(const Surroundings& around) : around_(around)
    {
        for (const plan::Item& item : around.plan->items)
            if (const auto* const cache = item.as<plan::LoaderCache>())
                if (auto parsed = elf::LdCache::parse(cache->content))
                    cache_.emplace(*std::move(parsed));
    }

    Entry of(const DriverFile& file) const
    {
        if (cache_) {
            const auto entries = cache_->lookup(file.soname, around_.machine->cache_flags);
            if (!entries.empty())
                return around_.container.resolve(std::string(entries.front().value));
        }
        return file_of(file);
    }

    static Entry file_of(const DriverFile& file)
    {
        return {rootfs::EntryType::regular, file.id.device, file.id.inode};
    }

private:
    const Surroundings& around_;
    std::optional<elf::LdCache> cache_;
};

class OtherCopies {
public:
    OtherCopies(const Surroundings& around, Linker& before, Linker& after,
                const LinkedProgram& program, Causes& causes)
        : around_(around), before_(before), after_(after), program_(program), causes_(causes)
    {
    }

    void run()
    {
        const Expected expected(around_);
        for (const OfDriver& library : given_libraries(around_)) {
            if (library.file->compat32 || library.file->precedence == model::Precedence::image)
                continue;
            const Entry wanted =
                around_.as_is ? Expected::file_of(*library.file) : expected.of(*library.file);
            const auto found = find(after_, *library.file);
            if (found && !around_.container.resolve(found->path).same_file(wanted)) {
                if (is_wrong(library, *found))
                    add_shadow(library, *found);
                continue;
            }
            const auto own = around_.as_is ? std::nullopt : find(before_, *library.file);
            if (own && !around_.image.resolve(own->path).same_file(wanted)
                && is_wrong(library, *own))
                add_mended(library, *own);
        }
    }

private:
    /// A driver whose files need no particular version works with an image's own copy as well.
    static bool is_wrong(const OfDriver& library, const Linker::Found& found)
    {
        return !library.driver->optional_files || found.state != linking::File::State::good;
    }

    std::optional<Linker::Found> find(Linker& linker, const DriverFile& file) const
    {
        const std::string interpreter = program_.path.empty() ? std::string(around_.machine->loader)
                                                              : program_.linked.interpreter;
        if (&linker == &after_)
            if (const linking::Object* const object = loaded_as(program_, file.soname))
                return Linker::Found{object->path, object->way, linking::File::State::good};
        return linker.find(file.soname, program_.path, interpreter, facts_of(*around_.machine));
    }

    Blocks blocks_of(const OfDriver& library) const
    {
        const bool is_needed = loaded_as(program_, library.file->soname) != nullptr
                               || std::ranges::any_of(program_.linked.lacks, [&](const Lack& one) {
                                      return one.name == library.file->soname;
                                  });
        return is_needed || is_main(library) ? Blocks::all : Blocks::some;
    }

    /// "libcuda.so.470.256.02, which is a copy of the image's own"
    std::string describe(const rootfs::View& view, const Linker::Found& found) const
    {
        if (found.state == linking::File::State::empty)
            return base::format("{}, an empty file,", found.path);
        if (found.state == linking::File::State::damaged)
            return base::format("{}, a damaged file,", found.path);
        if (base::name_of(base::directory_of(found.path)) == "stubs")
            return base::format("{}, a stub for linking without code,", found.path);
        const std::string target = view.link_target(found.path);
        return target.empty()
                   ? base::format("the image's own {}", found.path)
                   : base::format("the image's own {} ({})", found.path, base::name_of(target));
    }

    static std::string by(Way way)
    {
        switch (way) {
        case Way::variable:
            return base::format("by {}, ", search_variable);
        case Way::rpath:
            return "by the program's RPATH, ";
        case Way::runpath:
            return "by the program's RUNPATH, ";
        case Way::cache:
            return "by the loader cache, ";
        default:
            return "";
        }
    }

    std::string remedy(const Linker::Found& found) const
    {
        const std::string_view directory = base::directory_of(found.path);
        if (found.way == Way::variable)
            return base::format("remove {} from {} of the container", directory, search_variable);
        if (found.way == Way::rpath || found.way == Way::runpath)
            return base::format("remove the file, or {} from the program's search path (patchelf)",
                                directory);
        return base::format("remove {} from the image", found.path);
    }

    void add_shadow(const OfDriver& library, const Linker::Found& found)
    {
        causes_.push_back(
            {{FindingCode::library_shadowed, library.file->soname,
              base::format("{}programs find {} before the one of the {} driver", by(found.way),
                           describe(around_.container, found), library.driver->vendor_name),
              found.path, remedy(found)},
             Stage::load,
             blocks_of(library)});
    }

    /// Whether it is one of the directories that an image has for hosts with older drivers.
    bool is_compat(const OfDriver& library, const std::string& path) const
    {
        const drivers::Compat* const compat = compat_of(*library.driver);
        if (compat == nullptr)
            return false;
        const Entry directory = around_.image.resolve(std::string(base::directory_of(path)));
        return std::ranges::any_of(compat->directories(*library.driver),
                                   [&](const std::string& one) {
                                       return around_.image.resolve(one).same_file(directory);
                                   });
    }

    /// What the plan decided about such a directory: "not used: it is not newer than ...".
    std::string decision_about(const std::string& path) const
    {
        const Entry directory = around_.image.resolve(std::string(base::directory_of(path)));
        for (const model::Finding& finding : around_.plan->findings)
            if (finding.code == FindingCode::compat_decided
                && around_.image.resolve(finding.object).same_file(directory))
                return base::format(" ({})", finding.text);
        return "";
    }

    void add_mended(const OfDriver& library, const Linker::Found& found)
    {
        const bool is_for_older = is_compat(library, found.path);
        Cause cause = {
            {FindingCode::library_shadowed, library.file->soname,
             base::format("without a set-up, {}programs would find {} before the one of the {} "
                          "driver{}",
                          by(found.way), describe(around_.image, found),
                          library.driver->vendor_name,
                          is_for_older ? decision_about(found.path) : ""),
             found.way == Way::variable ? std::string(search_variable) : found.path,
             "gpuctr-setup has them find the driver's"},
            is_for_older ? Stage::init : Stage::load,
            blocks_of(library)};
        cause.mended = true;
        causes_.push_back(std::move(cause));
    }

    const Surroundings& around_;
    Linker& before_;
    Linker& after_;
    const LinkedProgram& program_;
    Causes& causes_;
};

/// Libraries of drivers that lack the same version.
struct Unfit {
    std::string library;
    model::VersionNeed need;
    std::vector<OfDriver> needed_by;
};

void note_unfit(const OfDriver& needer, const std::string& library, const std::string& version,
                std::vector<Unfit>& all)
{
    const auto same = std::ranges::find_if(all, [&](const Unfit& one) {
        return one.library == library && one.need.version == version;
    });
    if (same == all.end())
        all.push_back({library, {std::string(base::name_of(library)), version}, {needer}});
    else
        same->needed_by.push_back(needer);
}

void add_unfit(const Surroundings& around, Linker& linker, const std::vector<Unfit>& all,
               const std::function<Blocks(const OfDriver&)>& blocks_of, Causes& causes)
{
    for (const Unfit& unfit : all) {
        Blocks blocks = Blocks::some;
        for (const OfDriver& needer : unfit.needed_by)
            if (blocks_of(needer) == Blocks::all)
                blocks = Blocks::all;
        const OfDriver& first = unfit.needed_by.front();
        model::Finding finding = version_finding(
            linker, {first.file->soname, first.file->path, unfit.need.version, unfit.library});
        if (!first.file->compat32)
            add_host_remedy(around, unfit.library, finding);
        finding.text +=
            base::format("; the {} driver's library cannot be loaded{}", first.driver->vendor_name,
                         unfit.needed_by.size() > 1
                             ? base::format(", nor {} others of it", unfit.needed_by.size() - 1)
                             : "");
        causes.push_back({std::move(finding), Stage::load, blocks});
    }
}

} // namespace

void add_other_copies(const Surroundings& around, Linker& before, Linker& after,
                      const LinkedProgram& program, Causes& causes)
{
    OtherCopies(around, before, after, program, causes).run();
}

void add_unloadable(const Surroundings& around, Linker& linker, const LinkedProgram& program,
                    Causes& causes)
{
    std::vector<Unfit> all;
    for (const OfDriver& library : given_libraries(around)) {
        const elf::Machine* const machine =
            elf::machine_for(*around.machine, library.file->compat32);
        if (machine == nullptr)
            continue;
        std::string given = given_path(around.plan, *library.file);
        if (around.as_is) {
            const auto found = linker.find(library.file->soname, program.path,
                                           std::string(machine->loader), facts_of(*machine));
            given = found ? found->path : "";
        }
        const auto path = rootfs::real_path(around.container, given);
        if (!path || !around.container.resolve(*path).same_file(Expected::file_of(*library.file)))
            continue;
        const linking::Linked linked = linker.library(*path, std::string(machine->loader));
        for (const Lack& lack : linked.lacks)
            if (lack.kind == Lack::Kind::version
                && std::ranges::find(lack.needed_by, *path) != lack.needed_by.end())
                note_unfit(library, lack.file, lack.name, all);
    }
    add_unfit(
        around, linker, all,
        [&](const OfDriver& needer) {
            return is_main(needer) || loaded_as(program, needer.file->soname) != nullptr
                       ? Blocks::all
                       : Blocks::some;
        },
        causes);
}

void add_unfit_host_libraries(const Surroundings& around, Linker& linker, Causes& causes)
{
    std::vector<Unfit> all;
    const std::string interpreter(around.machine->loader);
    for (const model::DriverStack& driver : around.drivers)
        for (const DriverFile& file : driver.files) {
            if (file.kind != model::FileKind::library || file.compat32 || !driver.optional_files
                || file.capability == model::Capability::none
                || file.precedence == model::Precedence::image)
                continue;
            for (const model::VersionNeed& need : file.versions) {
                const auto found =
                    linker.find(need.library, "", interpreter, facts_of(*around.machine));
                const auto* const versions =
                    found ? linker.files().versions_of(found->path) : nullptr;
                if (versions != nullptr && !search::is_met(need, *versions))
                    note_unfit({&driver, &file}, found->path, need.version, all);
            }
        }
    add_unfit(
        around, linker, all, [](const OfDriver&) { return Blocks::all; }, causes);
}

} // namespace gpucontainer::check
