// SPDX-License-Identifier: MIT
#include "apply/device_access.hpp"

#include "apply/layer.hpp"
#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;
using cgroup::Verdict;

/// A device node of the plan, with its path in the container.
struct AskedNode {
    const plan::Device* device;
    const std::string* path;
};

/// The nodes to ask about.
struct Asked {
    std::vector<AskedNode> items;
    std::vector<UniqueFd> fds;
    std::vector<cgroup::Node> nodes;

    void add(const plan::Device& device, const std::string& path, UniqueFd fd)
    {
        items.push_back({&device, &path});
        nodes.push_back({fd.get(), {device.major, device.minor}});
        fds.push_back(std::move(fd));
    }
};

std::optional<cgroup::DeviceNumber> number_of(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode))
        return std::nullopt;
    return cgroup::DeviceNumber{::major(status.st_rdev), ::minor(status.st_rdev)};
}

/// A node that is now another device is not a matter of the cgroup. It is refused when it is
/// prepared.
Asked nodes_of(const plan::Plan& plan)
{
    Asked asked;
    for (const plan::Item& item : plan.items) {
        const auto* const device = item.as<plan::Device>();
        if (device == nullptr || device->source.empty())
            continue;
        UniqueFd fd(::open(device->source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (fd && number_of(fd.get()) == cgroup::DeviceNumber{device->major, device->minor})
            asked.add(*device, item.target, std::move(fd));
    }
    return asked;
}

/// Adds the nodes that the host lacks: others like them, which are made to ask about.
Result<void> add_made_nodes(const plan::Plan& plan, mount::Backend backend, Asked& asked)
{
    std::optional<Layer> layer;
    for (const plan::Item& item : plan.items) {
        const auto* const device = item.as<plan::Device>();
        if (device == nullptr || !device->source.empty())
            continue;
        if (!layer) {
            GPUCTR_TRY(layer, Layer::create({backend}, ""));
        }
        const std::string name = std::to_string(asked.items.size());
        GPUCTR_CHECK(layer->node(name, *device), "prepare {}", item.target);
        GPUCTR_TRY(UniqueFd fd, layer->open(name));
        asked.add(*device, item.target, std::move(fd));
    }
    return {};
}

using Items = std::vector<AskedNode>;

std::string names_of(const Items& items)
{
    std::vector<std::string_view> names;
    for (const AskedNode& node : items)
        names.push_back(*node.path);
    return base::joined(names, ", ");
}

/// The rule in the form of container runtimes.
std::string how_to_give(const Items& items)
{
    std::vector<std::string> options;
    std::vector<std::string> rules;
    for (const auto& [device, path] : items) {
        options.push_back("--device " + device->source);
        rules.push_back(cgroup::to_text({device->major, device->minor}, cgroup::may_use));
    }
    return base::format("give the container its devices when it is created: `{}` of podman and "
                        "docker, DeviceAllow= of systemd, linux.resources.devices of an OCI "
                        "runtime's config.json ({})",
                        base::joined(options, " "), base::joined(rules, ", "));
}

std::string forbidden_by(const std::string& group)
{
    return "forbidden by the container's device cgroup " + group;
}

model::Finding not_known(const std::string& why)
{
    return {model::FindingCode::device_unknown, "",
            "it is not known whether the container's device cgroup allows the GPUs: " + why};
}

void tell(model::Findings* findings, model::Finding finding)
{
    if (findings != nullptr)
        findings->push_back(std::move(finding));
}

Result<void> judge_denied(const Asked& asked, const cgroup::Answer& answer,
                          model::Findings* findings)
{
    Items needed;
    Items others;
    for (std::size_t i = 0; i < asked.items.size(); ++i)
        if (answer.verdicts[i] == Verdict::denied)
            (asked.items[i].device->required ? needed : others).push_back(asked.items[i]);
    if (!needed.empty())
        return Error(Errc::permission,
                     base::format("{}: {}", names_of(needed), forbidden_by(answer.group)))
            .with_object(*needed.front().path)
            .with_hint(how_to_give(needed));
    for (const AskedNode& node : others)
        tell(findings, {model::FindingCode::node_forbidden, *node.path,
                        forbidden_by(answer.group) + ": what needs it will not work", answer.group,
                        how_to_give({node})});
    return {};
}

void plan_rules(const Asked& asked, const cgroup::Answer& answer, DeviceAccess& access)
{
    if (access.groups->listed() == nullptr)
        return;
    Items unlisted;
    for (std::size_t i = 0; i < asked.items.size(); ++i) {
        const Verdict verdict = answer.verdicts[i];
        if (verdict != Verdict::unlisted && verdict != Verdict::allowed)
            continue;
        const AskedNode& node = asked.items[i];
        access.listed.push_back({asked.nodes[i].number, *node.path, node.device->required});
        if (verdict == Verdict::unlisted)
            unlisted.push_back(node);
    }
    access.lacks_rules = !unlisted.empty();
    access.hint = how_to_give(unlisted);
}

} // namespace

Result<plan::RefusedNodes> nodes_not_to_make(const plan::Plan& plan, const Target& target)
{
    plan::RefusedNodes refused;
    Asked asked;
    if (target.pidfd >= 0)
        GPUCTR_CHECK(add_made_nodes(plan, target.backend, asked));
    if (asked.nodes.empty())
        return refused;
    GPUCTR_TRY(const auto groups, cgroup::Groups::of_process(target.pidfd));
    const cgroup::Answer answer = groups.ask(asked.nodes);
    for (std::size_t i = 0; i < asked.items.size(); ++i)
        if (answer.verdicts[i] == Verdict::denied)
            refused[*asked.items[i].path] = forbidden_by(answer.group);
        else if (answer.verdicts[i] == Verdict::unknown)
            refused[*asked.items[i].path] =
                "it is not known whether the container's device cgroup allows it: "
                + answer.unknown;
    return refused;
}

Result<DeviceAccess> ask_for_devices(const plan::Plan& plan, const Target& target,
                                     model::Findings* findings)
{
    const int pidfd = target.pidfd;
    DeviceAccess access;
    Asked asked = pidfd >= 0 ? nodes_of(plan) : Asked();
    if (pidfd >= 0)
        GPUCTR_CHECK(add_made_nodes(plan, target.backend, asked));
    if (asked.nodes.empty())
        return access;
    GPUCTR_TRY(auto groups, cgroup::Groups::of_process(pidfd));
    access.groups.emplace(std::move(groups));
    const cgroup::Answer answer = access.groups->ask(asked.nodes);
    GPUCTR_CHECK(judge_denied(asked, answer, findings));
    plan_rules(asked, answer, access);
    if (!answer.unknown.empty())
        tell(findings, not_known(answer.unknown));
    return access;
}

model::Findings ask_about_nodes(const program::Program& program, int rootfs_fd, int pidfd)
{
    std::vector<std::string> paths;
    std::vector<UniqueFd> fds;
    std::vector<cgroup::Node> nodes;
    for (const program::Operation& operation : program.operations()) {
        const char* const path = program.text(operation.path);
        UniqueFd fd(operation.step == program::Step::mount
                        ? base::open_in_root(rootfs_fd, path, O_PATH | O_NOFOLLOW)
                        : -1);
        const auto number = fd ? number_of(fd.get()) : std::nullopt;
        if (!number)
            continue;
        paths.emplace_back(path);
        nodes.push_back({fd.get(), *number});
        fds.push_back(std::move(fd));
    }
    if (nodes.empty())
        return {};
    const auto groups = cgroup::Groups::of_process(pidfd);
    if (!groups)
        return {not_known(groups.error().message())};
    const cgroup::Answer answer = groups->ask(nodes);
    model::Findings found;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (answer.verdicts[i] == Verdict::denied || answer.verdicts[i] == Verdict::unlisted)
            found.push_back({model::FindingCode::device_denied, paths[i],
                             forbidden_by(answer.group), answer.group,
                             "apply it again, or give the container its devices when it is "
                             "created"});
    if (!answer.unknown.empty())
        found.push_back(not_known(answer.unknown));
    return found;
}

} // namespace gpucontainer::apply
