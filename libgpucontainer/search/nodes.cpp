// SPDX-License-Identifier: MIT
#include "search/nodes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "host/node_access.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace gpucontainer::search {
namespace {

/// A name in a directory of nodes, and without control characters.
bool is_node_name(std::string_view name)
{
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos
           && std::ranges::none_of(name, base::is_control);
}

/// Major numbers of the character drivers with these names.
template <typename Wanted>
std::vector<unsigned> majors_of(const std::string& proc_devices, Wanted is_wanted)
{
    std::vector<unsigned> majors;
    for (const std::string_view line : base::split(proc_devices, '\n')) {
        if (line.starts_with("Block"))
            break;
        const std::string_view text = base::trim(line);
        const auto space = text.find(' ');
        if (space == std::string_view::npos || !is_wanted(base::trim(text.substr(space))))
            continue;
        if (const auto number = base::to_number(text.substr(0, space));
            number && std::in_range<unsigned>(*number))
            majors.push_back(static_cast<unsigned>(*number));
    }
    return majors;
}

} // namespace

std::optional<unsigned> character_major(const std::string& proc_devices, std::string_view name)
{
    const auto found =
        majors_of(proc_devices, [&](std::string_view other) { return other == name; });
    return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<unsigned> character_majors(const std::string& proc_devices, std::string_view beginning)
{
    return majors_of(proc_devices,
                     [&](std::string_view name) { return name.starts_with(beginning); });
}

Result<NodeLinks> links_by_path(const std::string& system_root, const std::string& dev_root)
{
    constexpr std::string_view up = "../";
    constexpr std::size_t most_links = 4096;
    const std::string directory = "/dev/dri/by-path";
    const std::string place = system_root + dev_root + directory;
    NodeLinks links;
    const auto names = base::list_directory(AT_FDCWD, place, most_links);
    if (!names && base::leaves_open(names.error().os_error()))
        return Error::from_errno(names.error().os_error(), dev_root + directory, Errc::driver);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        const auto target = base::read_link(AT_FDCWD, base::format("{}/{}", place, name));
        if (target && target->starts_with(up) && is_node_name(target->substr(up.size()))
            && is_node_name(name))
            links[target->substr(up.size())].push_back(base::format("{}/{}", directory, name));
    }
    return links;
}

Result<void> add_node(const std::string& system_root, const std::string& dev_root,
                      const WantedNode& wanted, Nodes& found, model::Findings& findings)
{
    struct stat status = {};
    model::DeviceNode node;
    node.path = wanted.path;
    node.host_path = wanted.host_path.empty() ? dev_root + wanted.path : wanted.host_path;
    const std::string opened_path = system_root + node.host_path;
    node.major = wanted.major.value_or(0);
    node.minor = wanted.minor;
    node.gpu = wanted.gpu;
    node.capability = wanted.capability;
    node.required = wanted.required;
    node.links = wanted.links;
    node.extra = wanted.extra;
    const auto skip = [&](std::string reason) -> Result<void> {
        findings.push_back({model::FindingCode::node_missing,
                            std::string(base::name_of(wanted.path)), std::move(reason),
                            node.host_path, wanted.remedy});
        if (wanted.required || node.makeable || !node.problem.empty())
            found.missing.push_back(std::move(node));
        return {};
    };
    if (!wanted.obstacle.empty())
        return skip(wanted.obstacle);
    if (!wanted.major)
        return skip("its kernel driver is not loaded");
    const bool seen = ::fstatat(AT_FDCWD, opened_path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!seen && base::leaves_open(errno))
        return Error::from_errno(errno, node.host_path, Errc::driver).with_object(node.host_path);
    if (!seen && !wanted.extra.empty() && !wanted.required)
        return {}; // who asks for it is told
    if (!seen) {
        const int why = errno;
        // A directory that the caller names for nodes is taken as it is.
        if (wanted.rights && dev_root.empty()) {
            node.makeable = true;
            node.mode = wanted.rights->mode;
            node.uid = wanted.rights->uid;
            node.gid = wanted.rights->gid;
        }
        return skip(Error::from_errno(why, "no device node").message());
    }
    const bool is_wrong_an_error = wanted.required || wanted.rights || !wanted.extra.empty();
    if (is_wrong_an_error && S_ISCHR(status.st_mode)
        && (major(status.st_rdev) != *wanted.major || minor(status.st_rdev) != wanted.minor))
        node.problem =
            base::format("is the character device {}:{}, but its kernel driver has {}:{}",
                         major(status.st_rdev), minor(status.st_rdev), *wanted.major, wanted.minor);
    if (!S_ISCHR(status.st_mode) || major(status.st_rdev) != *wanted.major
        || minor(status.st_rdev) != wanted.minor)
        return skip(base::format("not the character device {}:{}", *wanted.major, wanted.minor));

    node.mode = status.st_mode & 07777U;
    node.uid = status.st_uid;
    node.gid = status.st_gid;
    host::Obstacle obstacle = host::obstacle_to_opening(opened_path);
    node.accessible = obstacle.text.empty();
    node.cgroup_forbids = obstacle.is_device_cgroup;
    if (!node.accessible)
        findings.push_back({model::FindingCode::node_inaccessible,
                            std::string(base::name_of(wanted.path)), std::move(obstacle.text),
                            node.host_path});
    found.nodes.push_back(std::move(node));
    return {};
}

} // namespace gpucontainer::search
