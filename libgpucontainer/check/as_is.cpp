// SPDX-License-Identifier: MIT
#include "check/as_is.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <vector>

namespace gpucontainer::check {
namespace {

using cgroup::Verdict;
using model::Blocks;
using model::FindingCode;
using model::Stage;

constexpr const char* how_to_give =
    "give the container the GPUs with `gpuctr-setup --pid`, or start it anew with them";

/// A device node of the plan as the container has it.
struct NodeThere {
    const plan::Item* item;
    const plan::Device* device;
    base::UniqueFd fd;
    std::string problem; ///< Why programs cannot use it; "" if that is not seen here.
};

std::string problem_of(const base::UniqueFd& fd, const plan::Device& device)
{
    struct stat status = {};
    struct statvfs mount = {};
    if (!fd)
        return "the container has no such device node";
    if (::fstat(fd.get(), &status) != 0 || !S_ISCHR(status.st_mode))
        return "is not a device node in the container";
    const auto major = ::major(status.st_rdev);
    const auto minor = ::minor(status.st_rdev);
    if (major != device.major || minor != device.minor)
        return base::format("is the character device {}:{} in the container, and the GPU's is "
                            "{}:{}",
                            major, minor, device.major, device.minor);
    if (::fstatvfs(fd.get(), &mount) == 0 && (mount.f_flag & ST_NODEV) != 0)
        return "lies on a mount with nodev in the container, where no device can be opened";
    return "";
}

std::vector<NodeThere> nodes_there(const plan::Plan& plan, int rootfs_fd)
{
    std::vector<NodeThere> nodes;
    for (const plan::Item& item : plan.items) {
        const auto* const device = item.as<plan::Device>();
        if (device == nullptr)
            continue;
        base::UniqueFd fd(base::open_in_root(rootfs_fd, item.target.c_str(), O_PATH));
        std::string problem = problem_of(fd, *device);
        nodes.push_back({&item, device, std::move(fd), std::move(problem)});
    }
    return nodes;
}

/// Asks the device cgroups about the nodes that are there.
Result<void> ask_groups(std::vector<NodeThere>& nodes, int pidfd, model::Causes& causes)
{
    std::vector<cgroup::Node> asked;
    std::vector<NodeThere*> of_asked;
    for (NodeThere& node : nodes)
        if (node.problem.empty()) {
            asked.push_back({node.fd.get(), {node.device->major, node.device->minor}});
            of_asked.push_back(&node);
        }
    if (asked.empty())
        return {};
    GPUCTR_TRY(const auto groups, cgroup::Groups::of_process(pidfd));
    const cgroup::Answer answer = groups.ask(asked);
    for (std::size_t i = 0; i < of_asked.size(); ++i)
        if (answer.verdicts[i] == Verdict::denied || answer.verdicts[i] == Verdict::unlisted)
            of_asked[i]->problem = base::format("the container's device cgroup {} forbids it, "
                                                "although it is there",
                                                answer.group);
    if (!answer.unknown.empty())
        causes.push_back({{FindingCode::device_unknown, "",
                           "it is not known whether the container's device cgroup allows the "
                           "GPUs: "
                               + answer.unknown},
                          Stage::host,
                          Blocks::some,
                          false});
    return {};
}

bool is_of_all(const NodeThere& node) { return node.device->required && node.item->owner.gpu < 0; }

/// Whether no GPU has all of its nodes.
bool lacks_all(const std::vector<NodeThere>& nodes)
{
    const auto is_unusable = [&](const NodeThere& node) {
        return std::ranges::any_of(nodes, [&](const NodeThere& other) {
            return other.item->owner == node.item->owner && other.device->required
                   && !other.problem.empty();
        });
    };
    const auto is_of_one = [](const NodeThere& node) { return node.item->owner.gpu >= 0; };
    return std::ranges::any_of(nodes, is_of_one)
           && std::ranges::none_of(
               nodes, [&](const NodeThere& node) { return is_of_one(node) && !is_unusable(node); });
}

} // namespace

Result<void> add_causes_of_nodes_there(const plan::Plan& plan, int rootfs_fd, int pidfd,
                                       model::Causes& causes)
{
    std::vector<NodeThere> nodes = nodes_there(plan, rootfs_fd);
    GPUCTR_CHECK(ask_groups(nodes, pidfd, causes));
    const bool none_usable = lacks_all(nodes);
    for (const NodeThere& node : nodes) {
        if (node.problem.empty())
            continue;
        const bool stops_all = is_of_all(node) || (none_usable && node.device->required);
        causes.push_back({{node.fd ? FindingCode::node_forbidden : FindingCode::node_missing,
                           node.item->target, node.problem, node.item->target, how_to_give},
                          Stage::host,
                          stops_all ? Blocks::all : Blocks::some});
    }
    return {};
}

} // namespace gpucontainer::check
