// SPDX-License-Identifier: MIT
#include "plan/cdi_hooks.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/fields.hpp"
#include "drivers/registry.hpp"
#include "elf/ld_cache_writer.hpp"
#include "plan/cdi_compat.hpp"
#include "plan/loader_cache.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpucontainer::plan {
namespace {

using cdi::FoundLibrary;
using cdi::Links;
using rootfs::EntryType;

constexpr const char* loader_configuration = "/etc/ld.so.conf.d/00-gpuctr.conf";

template <typename What>
const cdi::Task* find_task(const cdi::Merged& merged)
{
    const auto found = std::ranges::find_if(merged.tasks, [](const cdi::Task& task) {
        return std::holds_alternative<What>(task.what);
    });
    return found == merged.tasks.end() ? nullptr : &*found;
}

std::string in_directory_of(const FoundLibrary& library, const std::string& name)
{
    return base::format("{}/{}", base::directory_of(library.mount->container_path), name);
}

/// A library by one of its names.
struct CachedName {
    std::string name;
    std::string path;
    std::int32_t flags = 0;
};

/// All names that programs load, as ldconfig would list them.
std::vector<CachedName> cached_names_of(const Draft& draft, const cdi::Merged& merged,
                                        const std::vector<FoundLibrary>& libraries)
{
    const Links links(merged);
    std::vector<CachedName> names;
    for (const std::string& name : draft.compat.libraries)
        names.push_back({name, base::format("{}/{}", draft.compat.directory, name),
                         draft.machine->cache_flags});
    for (const FoundLibrary& library : libraries) {
        const elf::Machine* const machine = elf::machine_for(*draft.machine, library.compat32);
        if (machine == nullptr)
            continue;
        const std::string& path = library.mount->container_path;
        names.push_back(
            {library.soname, in_directory_of(library, library.soname), machine->cache_flags});
        for (const Links::Link& link : links.all())
            if (base::directory_of(link.path) == base::directory_of(path)
                && base::name_of(link.path) != library.soname && links.end_of(link.path) == path)
                names.push_back(
                    {std::string(base::name_of(link.path)), link.path, machine->cache_flags});
    }
    return names;
}

/// Directories that an ldconfig in the container would not look into by itself.
std::string further_directories(const Draft& draft, const std::vector<FoundLibrary>& libraries)
{
    std::set<std::string> directories;
    for (const FoundLibrary& library : libraries)
        directories.emplace(base::directory_of(library.mount->container_path));
    directories.erase(draft.image.library_directory);
    for (const char* usual : {"/lib", "/usr/lib", "/lib64", "/usr/lib64"})
        directories.erase(usual);
    std::string text =
        draft.compat.directory.empty() ? "" : base::format("{}\n", draft.compat.directory);
    for (const std::string& directory : directories)
        if (directory.find_first_of(" \t:=,#\n") == std::string::npos)
            text += base::format("{}\n", directory);
    return text;
}

void keep_directories(Draft& draft, const std::vector<FoundLibrary>& libraries)
{
    std::string text = further_directories(draft, libraries);
    if (text.empty() || draft.names.are_overlaid(loader_cache_path)
        || !draft.is_missing(loader_configuration) || !draft.can_have(loader_configuration))
        return;
    draft.add_name({GeneratedFile{std::move(text)}, loader_configuration,
                    "has a later ldconfig find the libraries"});
}

const drivers::CdiHooks& hooks_of(const std::string& vendor)
{
    return *drivers::find_vendor(vendor)->cdi_hooks; // whose hook it is
}

/// Without parameters of the driver, its programs have nothing to make nodes by.
Result<void> forbid_nodes(Draft& draft, const drivers::CdiHooks& hooks)
{
    std::vector<model::Mask> masks;
    GPUCTR_CHECK(hooks.mask_against_nodes("", masks));
    for (const model::Mask& mask : masks) {
        if (!draft.target->may_make_nodes)
            continue;
        if (draft.view.resolve(mask.path).type != EntryType::regular) {
            draft.need(base::format("a device cgroup, if root runs in the container: its programs "
                                    "can make the nodes of other GPUs, as nothing covers {}",
                                    mask.path));
            continue;
        }
        draft.identify("mask " + mask.path);
        draft.add({GeneratedCover{mask.content, false}, mask.path, mask.reason});
    }
    return {};
}

/// The numbers of the GPUs whose nodes the container gets, as bits. None if one is too large.
std::optional<std::uint64_t> bits_of_gpus(const cdi::Merged& merged, std::string_view prefix)
{
    constexpr std::uint64_t bits = 64;
    std::uint64_t mask = 0;
    for (const cdi::DeviceNode& node : merged.edits.nodes)
        if (node.path.starts_with(prefix))
            if (const auto number = base::to_number(node.path.substr(prefix.size()))) {
                if (*number >= bits)
                    return std::nullopt;
                mask |= std::uint64_t(1) << *number;
            }
    return mask;
}

void add_profile(Draft& draft, const cdi::Merged& merged, const drivers::CdiHooks& hooks,
                 const cdi::Place& place)
{
    const std::string path(hooks.profile_path);
    const auto gpus = bits_of_gpus(merged, hooks.gpu_node);
    if (!gpus) {
        leave_out(draft, place,
                  "programs that draw are not told which GPUs there are: a number is "
                  "larger than they read");
        return;
    }
    constexpr std::string_view placeholder = "{gpus}";
    std::string content(hooks.profile);
    content.replace(content.find(placeholder), placeholder.size(), base::format("{:#x}", *gpus));
    draft.identify(content);
    if (!draft.is_missing(path))
        draft.add({GeneratedCover{std::move(content), false}, path,
                   "programs that draw show only these GPUs by it"});
    else if (draft.can_have(path) || draft.names.are_overlaid(path))
        draft.add_name({GeneratedFile{std::move(content)}, path,
                        "programs that draw show only these GPUs by it"});
    else
        leave_out(draft, place, base::format("no {}: a name above it is no directory", path));
}

/// Directories that are made are of this mode; the image's own are left as they are.
void check_modes(Draft& draft, const cdi::ModeTask& task, const cdi::Place& place)
{
    constexpr std::uint32_t of_ours = 0755;
    for (const std::string& path : task.paths) {
        const rootfs::Entry there = draft.view.resolve(path);
        const std::uint32_t mode = there ? there.mode : of_ours;
        if (mode != task.mode)
            leave_out(draft, place,
                      base::format("{} has the mode {:04o}, and not {:04o}", cdi::shown(path), mode,
                                   task.mode));
    }
}

} // namespace

std::vector<std::string> cdi_hook_paths(const Draft& draft, const cdi::Merged& merged)
{
    std::vector<std::string> paths;
    if (find_task<cdi::CacheTask>(merged) != nullptr) {
        paths.emplace_back(loader_cache_path);
        if (!draft.names.are_overlaid(loader_cache_path))
            paths.emplace_back(loader_configuration);
    }
    if (const cdi::Task* const task = find_task<cdi::ProfileTask>(merged))
        paths.emplace_back(hooks_of(std::get<cdi::ProfileTask>(task->what).vendor).profile_path);
    return paths;
}

std::vector<Links::Link> soname_links(const cdi::Merged& merged,
                                      const std::vector<FoundLibrary>& libraries)
{
    const Links links(merged);
    std::vector<Links::Link> added;
    for (const FoundLibrary& library : libraries) {
        const std::string path = in_directory_of(library, library.soname);
        const bool is_there =
            links.mount_at(path) != nullptr
            || std::ranges::find(links.all(), path, &Links::Link::path) != links.all().end()
            || std::ranges::find(added, path, &Links::Link::path) != added.end();
        if (!is_there)
            added.push_back({path, std::string(base::name_of(library.mount->container_path)),
                             library.mount->place});
    }
    return added;
}

Result<void> add_cdi_cache(Draft& draft, const cdi::Merged& merged,
                           const std::vector<FoundLibrary>& libraries)
{
    const cdi::Task* const task = find_task<cdi::CacheTask>(merged);
    if (task == nullptr)
        return {};
    if (!draft.is_native()) {
        leave_out(draft, task->place,
                  "no loader cache: the image runs no programs that read one on this machine");
        return {};
    }
    if (const cdi::Task* const compat = find_task<cdi::CompatTask>(merged))
        choose_image_driver(draft, std::get<cdi::CompatTask>(compat->what));
    const std::vector<CachedName> names = cached_names_of(draft, merged, libraries);
    if (names.empty())
        return {};
    std::vector<elf::NewCacheEntry> entries;
    entries.reserve(names.size());
    for (const CachedName& one : names)
        entries.push_back({one.name, one.path, one.flags});
    const CachedName& known = names.back();
    if (draft.image_cache) {
        const auto found = draft.image_cache->lookup(known.name, known.flags);
        draft.cache_is_ours = std::ranges::any_of(
            found, [&](const elf::CacheEntry& entry) { return entry.value == known.path; });
    }
    GPUCTR_TRY(auto cache, elf::merge(draft.image_cache ? &*draft.image_cache : nullptr, entries),
               "loader cache");
    for (const CachedName& one : names)
        draft.identify(base::format("cached {} {}", one.name, one.path));
    GPUCTR_CHECK(put_loader_cache(draft, std::move(cache)));
    keep_directories(draft, libraries);
    return {};
}

Result<void> add_cdi_tasks(Draft& draft, const cdi::Merged& merged)
{
    if (const cdi::Task* const task = find_task<cdi::NoNodesTask>(merged))
        GPUCTR_CHECK(forbid_nodes(draft, hooks_of(std::get<cdi::NoNodesTask>(task->what).vendor)));
    if (const cdi::Task* const task = find_task<cdi::ProfileTask>(merged))
        add_profile(draft, merged, hooks_of(std::get<cdi::ProfileTask>(task->what).vendor),
                    task->place);
    for (const cdi::Task& task : merged.tasks)
        if (const auto* const modes = std::get_if<cdi::ModeTask>(&task.what))
            check_modes(draft, *modes, task.place);
    const cdi::Task* const compat = find_task<cdi::CompatTask>(merged);
    if (compat != nullptr && find_task<cdi::CacheTask>(merged) == nullptr)
        leave_out(draft, compat->place,
                  "whether the image has libraries of a newer driver is not looked at, as no "
                  "other hook has a loader cache written");
    return {};
}

} // namespace gpucontainer::plan
