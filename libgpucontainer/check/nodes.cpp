// SPDX-License-Identifier: MIT
#include "check/nodes.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::check {

using model::Blocks;
using model::Capability;
using model::Cause;
using model::DeviceNode;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

/// What keeps a node from being used.
enum class Fault : std::uint8_t { missing, not_made_yet, other_device, cgroup, permissions };

/// Nodes with one fault.
struct Group {
    Fault fault;
    std::string reason; ///< Of the first.
    std::string extra;  ///< As in DeviceNode.
    bool of_gpus;       ///< They are for single GPUs.
    std::vector<const DeviceNode*> nodes;
};

Fault fault_of_missing(const DeviceNode& node)
{
    if (!node.problem.empty())
        return Fault::other_device;
    return node.makeable ? Fault::not_made_yet : Fault::missing;
}

/// Whether two faults are one to those who read of them.
bool is_same(const Group& group, Fault fault, std::string_view reason, const DeviceNode& node)
{
    return group.fault == fault && group.extra == node.extra && group.of_gpus == (node.gpu >= 0)
           && (group.reason == reason || fault == Fault::other_device);
}

void add_to(std::vector<Group>& groups, Fault fault, std::string reason, const DeviceNode& node)
{
    const auto found = std::ranges::find_if(
        groups, [&](const Group& group) { return is_same(group, fault, reason, node); });
    if (found != groups.end())
        found->nodes.push_back(&node);
    else
        groups.push_back({fault, std::move(reason), node.extra, node.gpu >= 0, {&node}});
}

std::vector<Group> groups_of(const DriverStack& driver)
{
    std::vector<Group> groups;
    for (const DeviceNode& node : driver.missing_nodes)
        if (node.required || !node.problem.empty())
            add_to(groups, fault_of_missing(node),
                   node.problem.empty() ? driver.obstacle_to(node) : node.problem, node);
    for (const DeviceNode& node : driver.nodes)
        if (node.required && !node.accessible && node.extra.empty())
            add_to(groups, node.cgroup_forbids ? Fault::cgroup : Fault::permissions,
                   driver.obstacle_to(node), node);
    return groups;
}

/// A GPU, or an instance of one, with all of its nodes.
bool is_usable(const DriverStack& driver, const model::Gpu& gpu)
{
    const auto is_its = [&](const DeviceNode& node) {
        return node.required && node.gpu >= 0
               && (node.gpu == static_cast<int>(gpu.index) || node.gpu == gpu.parent);
    };
    return std::ranges::none_of(
               driver.missing_nodes,
               [&](const DeviceNode& node) { return is_its(node) && !node.makeable; })
           && std::ranges::none_of(driver.nodes, [&](const DeviceNode& node) {
                  return is_its(node) && !node.accessible;
              });
}

/// What programs use: whole GPUs, and the instances of those that have some.
std::vector<const model::Gpu*> units_of(const DriverStack& driver)
{
    std::vector<const model::Gpu*> units;
    for (const model::Gpu& gpu : driver.gpus)
        if (driver.instances_of(gpu.index).empty())
            units.push_back(&gpu);
    return units;
}

std::vector<unsigned> gpus_of(const Group& group)
{
    std::vector<unsigned> gpus;
    for (const DeviceNode* const node : group.nodes)
        gpus.push_back(static_cast<unsigned>(node->gpu));
    std::ranges::sort(gpus);
    gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
    return gpus;
}

/// "GPU 4 (0000:00:0a.0)", "GPUs 1 to 7", "GPUs 1, 3, 4", "40 of 64 GPUs"
std::string name_of_gpus(const DriverStack& driver, const std::vector<unsigned>& gpus)
{
    constexpr std::size_t most_named = 8;
    const auto label = [&](unsigned gpu) {
        return gpu < driver.gpus.size() ? driver.gpus[gpu].label() : std::to_string(gpu);
    };
    if (gpus.size() == 1) {
        const unsigned gpu = gpus.front();
        const std::string address = gpu < driver.gpus.size() ? driver.gpus[gpu].pci_address : "";
        return address.empty() ? "GPU " + label(gpu)
                               : base::format("GPU {} ({})", label(gpu), address);
    }
    const bool is_range = gpus.back() - gpus.front() + 1 == gpus.size();
    if (is_range && gpus.back() < driver.whole_gpus())
        return base::format("GPUs {} to {}", gpus.front(), gpus.back());
    if (gpus.size() > most_named)
        return base::format("{} of {} GPUs", gpus.size(), driver.gpus.size());
    std::string names;
    for (const unsigned gpu : gpus)
        names += base::format("{}{}", names.empty() ? "" : ", ", label(gpu));
    return "GPUs " + names;
}

std::string what_is_wrong(const Group& group)
{
    constexpr std::string_view no_node = "no device node";
    switch (group.fault) {
    case Fault::missing:
    case Fault::not_made_yet:
        return group.reason.starts_with(no_node) ? "is missing" : "is missing: " + group.reason;
    case Fault::other_device:
        return group.reason;
    case Fault::cgroup:
    case Fault::permissions:
        break;
    }
    return base::format("may not be used ({})", group.reason);
}

std::string remedy_of(const DriverStack& driver, const Group& group)
{
    constexpr std::uint32_t open_to_all = 06;
    const DeviceNode& node = *group.nodes.front();
    switch (group.fault) {
    case Fault::missing:
        if (std::string said = driver.remedy_for(node); !said.empty())
            return said;
        return "the driver's own tools make it, as root on the host; in a container, it was not "
               "passed in";
    case Fault::not_made_yet:
        return "setting up makes it for the container";
    case Fault::other_device:
        return "the number changed when the module was loaded again, as after a reboot: remove "
               "the node as root, and have the driver's own tools make it anew";
    case Fault::cgroup:
        return "it was not granted, or systemd took it back when its units were reloaded: have "
               "the scheduler or engine grant it, and start the job or container again";
    case Fault::permissions:
        break;
    }
    if ((node.mode & open_to_all) == open_to_all && !group.reason.starts_with("the mount"))
        return "its mode allows it: look for a security policy, such as SELinux's, and for an "
               "access list of the node";
    return base::format("become a member of group {}, or ask an administrator for access",
                        node.gid);
}

class NodeCauses {
public:
    NodeCauses(const DriverStack& driver, model::Causes& causes)
        : driver_(driver), causes_(causes), units_(units_of(driver)),
          none_usable_(std::ranges::none_of(
              units_, [&](const model::Gpu* gpu) { return is_usable(driver, *gpu); }))
    {
    }

    void run()
    {
        std::vector<Group> groups = groups_of(driver_);
        for (const Group& group : groups)
            if (!is_part_of_other(group, groups))
                add(group);
    }

private:
    /// Whether all GPUs have the fault that a node for all of them has too.
    bool is_part_of_other(const Group& group, const std::vector<Group>& groups) const
    {
        return group.of_gpus && gpus_of(group).size() >= driver_.whole_gpus()
               && std::ranges::any_of(groups, [&](const Group& other) {
                      return !other.of_gpus && other.fault == group.fault
                             && other.reason == group.reason && other.extra.empty()
                             && other.nodes.front()->required;
                  });
    }

    /// Programs that compute are those that most run.
    Blocks blocks(const Group& group) const
    {
        if (!group.extra.empty())
            return Blocks::some;
        if (group.of_gpus)
            return group.nodes.front()->required && none_usable_ ? Blocks::all : Blocks::some;
        return std::ranges::any_of(group.nodes,
                                   [](const DeviceNode* node) {
                                       return node->capability == Capability::none
                                              || node->capability == Capability::compute;
                                   })
                   ? Blocks::all
                   : Blocks::some;
    }

    void add(const Group& group)
    {
        const DeviceNode& first = *group.nodes.front();
        const std::string wrong = what_is_wrong(group);
        const std::size_t others = group.nodes.size() - 1;
        const std::string more = others == 0   ? ""
                                 : others == 1 ? ", and so is another"
                                               : base::format(", and so are {} others", others);
        Cause cause;
        cause.finding.code = group.fault == Fault::cgroup || group.fault == Fault::permissions
                                 ? FindingCode::node_inaccessible
                                 : FindingCode::node_missing;
        cause.finding.object =
            group.of_gpus ? name_of_gpus(driver_, gpus_of(group)) : first.host_path;
        cause.finding.text =
            group.of_gpus ? base::format("the device node {} {}{}", first.host_path, wrong, more)
                          : base::format("{}{}{}", wrong, more, needed_by(first));
        cause.finding.evidence = first.host_path;
        cause.finding.hint = remedy_of(driver_, group);
        cause.finding.capability = first.required ? Capability::none : first.capability;
        cause.stage = group.extra.empty() ? Stage::host : Stage::feature;
        cause.blocks = blocks(group);
        cause.mended = group.fault == Fault::not_made_yet;
        causes_.push_back(std::move(cause));
    }

    std::string needed_by(const DeviceNode& node) const
    {
        if (node.required)
            return base::format("; all programs of {} GPUs need it", driver_.vendor_name);
        return node.capability == Capability::compute ? "; programs that compute need it" : "";
    }

    const DriverStack& driver_;
    model::Causes& causes_;
    std::vector<const model::Gpu*> units_;
    bool none_usable_;
};

} // namespace

void add_node_causes(const DriverStack& driver, model::Causes& causes)
{
    NodeCauses(driver, causes).run();
}

} // namespace gpucontainer::check
