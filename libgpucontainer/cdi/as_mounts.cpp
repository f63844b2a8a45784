// SPDX-License-Identifier: MIT
#include "cdi/as_mounts.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "cdi/fields.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <utility>

namespace gpucontainer::cdi {
namespace {

using model::FindingCode;

constexpr int most_hops = 16;

std::string lexical(const std::string& directory, const std::string& to)
{
    namespace fs = std::filesystem;
    return (to.starts_with('/') ? fs::path(to) : fs::path(directory) / to)
        .lexically_normal()
        .string();
}

/// The soname of a library of this host.
std::optional<FoundLibrary> read_library(const Mount& mount)
{
    const base::UniqueFd fd(
        ::open(mount.host_path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd)
        return std::nullopt;
    const auto facts = elf::read_facts(fd.get());
    if (!facts || facts->soname.empty())
        return std::nullopt;
    const elf::Machine* const machine32 = elf::compat32_of(elf::own_machine());
    if (elf::is_for(*facts, elf::own_machine()))
        return FoundLibrary{&mount, facts->soname, false};
    if (machine32 != nullptr && elf::is_for(*facts, *machine32))
        return FoundLibrary{&mount, facts->soname, true};
    return std::nullopt;
}

/// Where the loaders of Debian's and of other images look without a cache.
std::vector<std::string> loader_directories(bool compat32)
{
    const elf::Machine* const machine = elf::machine_for(elf::own_machine(), compat32);
    return {base::format("/usr/lib/{}", machine->multiarch), compat32 ? "/usr/lib" : "/usr/lib64"};
}

class ByMounts {
public:
    ByMounts(const Merged& merged, model::Findings& findings)
        : merged_(merged), findings_(findings), links_(merged)
    {
        for (const Mount& mount : merged.edits.mounts)
            taken_.insert(mount.container_path);
        for (const DeviceNode& node : merged.edits.nodes)
            taken_.insert(node.path);
    }

    Edits run()
    {
        for (const Links::Link& link : links_.all())
            add_link(link);
        for (const FoundLibrary& library : libraries_of(merged_))
            add_library(library);
        for (const Task& task : merged_.tasks)
            tell(task);
        return std::move(added_);
    }

private:
    void left_out(const Place& place, std::string why, std::string hint = {})
    {
        findings_.push_back(
            {FindingCode::cdi_left_out, place.text(), std::move(why), place.file, std::move(hint)});
    }

    void add(const Mount& mount, std::string path)
    {
        if (!taken_.insert(path).second)
            return;
        Mount another = mount;
        another.container_path = std::move(path);
        added_.mounts.push_back(std::move(another));
    }

    /// Programs that look for GPUs do not list the directories of such links.
    void add(const DeviceNode& node, const std::string& path)
    {
        if (!taken_.insert(path).second)
            return;
        added_.nodes.push_back(node);
        added_.nodes.back().path = path;
    }

    void add_link(const Links::Link& link)
    {
        const auto end = links_.end_of(link.path);
        const Mount* const mount = end ? links_.mount_at(*end) : nullptr;
        const auto& nodes = merged_.edits.nodes;
        const auto node = std::ranges::find(nodes, end.value_or(""), &DeviceNode::path);
        if (mount != nullptr)
            add(*mount, link.path);
        else if (node != nodes.end())
            add(*node, link.path);
        else
            left_out(link.place,
                     base::format("the link {} to {} is not made: it leads to nothing that is "
                                  "mounted, and mounts alone make no links",
                                  shown(link.path), shown(link.to)),
                     keep_hint);
    }

    void add_library(const FoundLibrary& library)
    {
        const std::string& path = library.mount->container_path;
        std::vector<std::string> names = {library.soname};
        for (const Links::Link& link : links_.all())
            if (base::directory_of(link.path) == base::directory_of(path)
                && links_.end_of(link.path) == path)
                names.emplace_back(base::name_of(link.path));
        for (const std::string& directory : loader_directories(library.compat32))
            for (const std::string& name : names)
                add(*library.mount, base::format("{}/{}", directory, name));
    }

    void tell(const Task& task)
    {
        if (std::holds_alternative<CompatTask>(task.what))
            left_out(task.place,
                     "whether the image has libraries of a newer driver is not looked at: programs "
                     "find the host's",
                     keep_hint);
        else if (std::holds_alternative<ProfileTask>(task.what))
            left_out(task.place, "programs that draw are not told which GPUs the container has",
                     keep_hint);
        else if (const auto* const mode = std::get_if<ModeTask>(&task.what))
            left_out(task.place, base::format("the runtime decides the mode of {}",
                                              base::joined(mode->paths, ", ")));
        else if (std::holds_alternative<NoNodesTask>(task.what))
            findings_.push_back({FindingCode::container_need, "",
                                 "a device cgroup, if root runs in the container: its programs can "
                                 "make the nodes of other GPUs"});
    }

    static constexpr const char* keep_hint =
        "with --keep-hooks all, the runtime runs the hooks of the specification";

    const Merged& merged_;
    model::Findings& findings_;
    Links links_;
    std::set<std::string> taken_;
    Edits added_;
};

} // namespace

Links::Links(const Merged& merged) : merged_(merged)
{
    for (const Task& task : merged.tasks)
        if (const auto* const links = std::get_if<LinkTask>(&task.what))
            for (const LinkTask::Link& link : links->links)
                links_.push_back({link.path, link.to, task.place});
    // Of two links at one path the last one would stay.
    std::ranges::reverse(links_);
    std::ranges::stable_sort(links_, {}, &Link::path);
    const auto same =
        std::unique(links_.begin(), links_.end(),
                    [](const Link& left, const Link& right) { return left.path == right.path; });
    links_.erase(same, links_.end());
}

const Links::Link* Links::find(const std::string& path) const
{
    const auto found = std::ranges::lower_bound(links_, path, {}, &Link::path);
    return found != links_.end() && found->path == path ? &*found : nullptr;
}

std::optional<std::string> Links::end_of(const std::string& path) const
{
    std::string at = path;
    for (int hops = 0; hops < most_hops; ++hops) {
        const Link* const link = find(at);
        if (link == nullptr)
            return at;
        at = lexical(std::string(base::directory_of(at)), link->to);
    }
    return std::nullopt;
}

const Mount* Links::mount_at(const std::string& path) const
{
    const auto& mounts = merged_.edits.mounts;
    const auto found = std::ranges::find(mounts, path, &Mount::container_path);
    return found == mounts.end() ? nullptr : &*found;
}

std::vector<FoundLibrary> libraries_of(const Merged& merged)
{
    std::set<std::string, std::less<>> directories;
    for (const Task& task : merged.tasks)
        if (const auto* const cache = std::get_if<CacheTask>(&task.what))
            directories.insert(cache->directories.begin(), cache->directories.end());
    std::vector<FoundLibrary> libraries;
    for (const Mount& mount : merged.edits.mounts)
        if (directories.contains(base::directory_of(mount.container_path)))
            if (auto library = read_library(mount))
                libraries.push_back(*std::move(library));
    return libraries;
}

void do_by_mounts(Merged& merged, model::Findings& findings)
{
    const Edits added = ByMounts(merged, findings).run();
    Edits& all = merged.edits;
    all.mounts.insert(all.mounts.end(), added.mounts.begin(), added.mounts.end());
    all.nodes.insert(all.nodes.end(), added.nodes.begin(), added.nodes.end());
    merged.tasks.clear();
}

} // namespace gpucontainer::cdi
