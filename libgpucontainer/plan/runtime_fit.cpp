// SPDX-License-Identifier: MIT
#include "plan/runtime_fit.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/facts.hpp"
#include "elf/symbol_versions.hpp"
#include "plan/started_program.hpp"
#include "rootfs/real_path.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::plan {

using model::VersionNeed;
using rootfs::EntryType;

namespace {

/// Any release has it, so that the newest of this kind is that of the release.
const VersionNeed& oldest_need()
{
    static const VersionNeed need = {search::c_library, "GLIBC_2.0"};
    return need;
}

/// Where distributions have the loader, as link or as file.
std::vector<std::string> usual_directories(const elf::Machine& machine)
{
    std::vector<std::string> directories = rootfs::library_directories(machine);
    const std::string of_loader(base::directory_of(machine.loader));
    for (const std::string& directory : {of_loader, "/usr" + of_loader, std::string("/lib")})
        directories.push_back(directory);
    return directories;
}

/// As in search::RuntimeFile::versions.
std::vector<std::string> sorted(std::vector<std::string> versions)
{
    std::ranges::sort(versions);
    return versions;
}

/// Without the library's own name, which is among them.
std::vector<std::string> symbol_versions(const std::vector<std::string>& all,
                                         std::string_view soname)
{
    std::vector<std::string> versions = sorted(all);
    std::erase(versions, soname);
    return versions;
}

} // namespace

const std::string& RuntimeFit::objection() const
{
    if (!objection_)
        objection_ = find_objection();
    return *objection_;
}

const std::string& RuntimeFit::library() const
{
    if (!library_) {
        model::DriverFile wanted;
        wanted.soname = search::c_library;
        library_ = image_.find(wanted);
    }
    return *library_;
}

std::string RuntimeFit::loader() const
{
    return rootfs::real_path(draft_.view, draft_.machine->loader).value_or("");
}

bool RuntimeFit::is_hosts_already() const
{
    if (!is_wanted() || host().files.empty())
        return false;
    const std::string path = loader();
    const rootfs::Entry entry = draft_.view.resolve(path);
    // A container may have the host's directories.
    return is_file(entry, host().files.front().id)
           && entry.mount != draft_.view.resolve(std::string(base::directory_of(path))).mount;
}

std::string RuntimeFit::find_objection() const
{
    if (!is_wanted())
        return "nobody asked for it";
    if (!host().problem.empty())
        return host().problem;
    if (draft_.target == nullptr)
        return "there is no image that it could be for";
    std::string objection = objection_to_loader();
    if (objection.empty())
        objection = objection_to_age();
    if (objection.empty())
        objection = objection_to_program();
    return objection;
}

std::string RuntimeFit::objection_to_loader() const
{
    const std::string usual(draft_.machine->loader);
    const std::string real = loader();
    const rootfs::Entry entry = draft_.view.resolve(real.empty() ? usual : real);
    if (real.empty() || entry.type != EntryType::regular)
        return base::format("the image's {} is no file", usual);
    const rootfs::Entry home = draft_.view.resolve(std::string(base::directory_of(real)));
    const auto directories = usual_directories(*draft_.machine);
    if (std::ranges::none_of(directories, [&](const std::string& directory) {
            return draft_.view.resolve(directory).same_file(home);
        }))
        return base::format("the image's interpreter {} is {}, which has a C library of its own, "
                            "as those of Nix, Guix and conda have",
                            usual, real);
    const auto file = draft_.view.open(real);
    const auto facts = file ? elf::read_facts(file->get()) : Result<elf::Facts>(elf::Facts());
    const std::string_view name = base::name_of(draft_.machine->loader);
    if (!file || !facts || !elf::is_for(*facts, *draft_.machine) || facts->soname != name)
        return base::format("the image's {} is not the loader of glibc for this machine", real);
    return "";
}

/// The newer one has all that programs of the older one use, but not the other way round.
std::string RuntimeFit::objection_to_age() const
{
    if (library().empty())
        return base::format("the image's {} is not found", search::c_library);
    const auto versions = image_.versions_of(library());
    if (!versions)
        return versions.error().message();
    const std::string own = search::newest_of_kind(oldest_need(), *versions);
    const auto* const hosts = host().find(search::c_library);
    const std::string of_host =
        hosts == nullptr ? "" : search::newest_of_kind(oldest_need(), hosts->versions);
    if (own.empty() || of_host.empty())
        return base::format("the release of {} is not known",
                            own.empty() ? library() : std::string("the host's C library"));
    if (search::is_met({search::c_library, of_host}, *versions))
        return base::format("the image's {} has {}, and the host's {}: it is not older", library(),
                            own, of_host);
    return "";
}

std::string RuntimeFit::objection_to_program() const
{
    const std::string& name = draft_.request.glibc.program;
    if (name.empty())
        return "";
    const StartedProgram program = find_started_program(draft_, name);
    if (program.kind == StartedProgram::Kind::unknown)
        return "";
    if (program.kind == StartedProgram::Kind::foreign)
        return base::format("{} is no program of this machine", program.path);
    if (program.kind == StartedProgram::Kind::no_libraries)
        return base::format("{} is a static program, which uses no C library of the container",
                            program.path);
    return objection_to_interpreter(program.path, program.interpreter);
}

std::string RuntimeFit::objection_to_interpreter(const std::string& program,
                                                 const std::string& interpreter) const
{
    if (rootfs::real_path(draft_.view, interpreter).value_or("") == loader())
        return "";
    return base::format("{} has the interpreter {}, which has a C library of its own, as those of "
                        "Nix, Guix and conda have",
                        program, interpreter);
}

bool RuntimeFit::meets(const VersionNeed& need) const
{
    if (!is_wanted() || !objection().empty())
        return false;
    const search::RuntimeFile* const hosts = host().find(search::c_library);
    return need.library == search::c_library && hosts != nullptr
           && search::is_met(need, hosts->versions);
}

bool RuntimeFit::meets(const VersionNeed& need, const std::string& path) const
{
    if (!search::is_of_compiler(need.library))
        return meets(need);
    const search::RuntimeFile* const hosts = newer(need.library, path);
    if (hosts == nullptr || !search::is_met(need, hosts->versions))
        return false;
    const auto own = image_.versions_of(library());
    return std::ranges::all_of(hosts->needs, [&](const VersionNeed& one) {
        return one.library != search::c_library || (own && search::is_met(one, *own)) || meets(one);
    });
}

const search::RuntimeFile* RuntimeFit::newer(std::string_view soname, const std::string& path) const
{
    if (!is_wanted())
        return nullptr;
    const auto& all = draft_.request.glibc.host->compiler;
    const auto hosts = std::ranges::find(all, soname, &search::RuntimeFile::soname);
    const auto versions = image_.versions_of(path);
    if (hosts == all.end() || !versions)
        return nullptr;
    const auto own = symbol_versions(*versions, soname);
    const auto of_host = symbol_versions(hosts->versions, soname);
    const bool has_all = std::ranges::includes(of_host, own);
    return has_all && of_host.size() > own.size() ? &*hosts : nullptr;
}

std::string RuntimeFit::remark(const VersionNeed& need) const
{
    if (!is_wanted())
        return "";
    if (search::is_of_compiler(need.library))
        return "; the host's is not newer, or needs a newer C library";
    return need.library == search::c_library && !objection().empty()
               ? base::format("; the host's C library is not used: {}", objection())
               : "";
}

bool is_bound_to_build(const Draft& draft, const std::string& path)
{
    const auto file = draft.view.open(path);
    if (!file)
        return false;
    const auto needed = elf::read_needed_versions(file->get());
    return needed && std::ranges::any_of(*needed, [](const elf::NeededVersion& need) {
               return need.version == search::private_version;
           });
}

} // namespace gpucontainer::plan
