// SPDX-License-Identifier: MIT
#include "apply/device_access.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;
using cgroup::Verdict;

/// A node of the plan, at its path in the container.
struct AskedNode {
    const plan::Device* device;
    const std::string* path;
};

/// Nodes to ask about, and which they are.
struct Asked {
    std::vector<AskedNode> items;
    std::vector<UniqueFd> fds;
    std::vector<cgroup::Node> nodes;
};

std::optional<cgroup::DeviceNumber> number_of(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0 || !S_ISCHR(status.st_mode))
        return std::nullopt;
    return cgroup::DeviceNumber{::major(status.st_rdev), ::minor(status.st_rdev)};
}

/// One that is another device by now is no matter of the cgroup's: it is refused when it is
/// prepared.
Asked nodes_of(const plan::Plan& plan)
{
    Asked asked;
    for (const plan::Item& item : plan.items) {
        const auto* const device = item.as<plan::Device>();
        if (device == nullptr)
            continue;
        UniqueFd fd(::open(device->source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        const cgroup::DeviceNumber wanted = {device->major, device->minor};
        if (!fd || number_of(fd.get()) != wanted)
            continue;
        asked.items.push_back({device, &item.target});
        asked.nodes.push_back({fd.get(), wanted});
        asked.fds.push_back(std::move(fd));
    }
    return asked;
}

using Items = std::vector<AskedNode>;

std::string names_of(const Items& items)
{
    std::vector<std::string_view> names;
    for (const AskedNode& node : items)
        names.push_back(*node.path);
    return base::joined(names, ", ");
}

/// In the words of those who make containers.
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

std::string forbidden(const Items& items, const std::string& group)
{
    return base::format("{}: forbidden by the container's device cgroup {}", names_of(items),
                        group);
}

std::string not_known(const std::string& why)
{
    return "it is not known whether the container's device cgroup allows the GPUs: " + why;
}

void tell(std::vector<std::string>* warnings, std::string text)
{
    if (warnings != nullptr)
        warnings->push_back(std::move(text));
}

Result<void> judge_denied(const Asked& asked, const cgroup::Findings& findings,
                          std::vector<std::string>* warnings)
{
    Items needed;
    Items others;
    for (std::size_t i = 0; i < asked.items.size(); ++i)
        if (findings.verdicts[i] == Verdict::denied)
            (asked.items[i].device->required ? needed : others).push_back(asked.items[i]);
    if (!needed.empty())
        return Error(Errc::permission, forbidden(needed, findings.group))
            .with_object(*needed.front().path)
            .with_hint(how_to_give(needed));
    if (!others.empty())
        tell(warnings, base::format("{}: what needs it will not work; {}",
                                    forbidden(others, findings.group), how_to_give(others)));
    return {};
}

void plan_rules(const Asked& asked, const cgroup::Findings& findings, DeviceAccess& access)
{
    if (access.groups->listed() == nullptr)
        return;
    Items unlisted;
    for (std::size_t i = 0; i < asked.items.size(); ++i) {
        const Verdict verdict = findings.verdicts[i];
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

Result<DeviceAccess> ask_for_devices(const plan::Plan& plan, int pidfd,
                                     std::vector<std::string>* warnings)
{
    DeviceAccess access;
    const Asked asked = pidfd >= 0 ? nodes_of(plan) : Asked();
    if (asked.nodes.empty())
        return access;
    GPUCTR_TRY(auto groups, cgroup::Groups::of_process(pidfd));
    access.groups.emplace(std::move(groups));
    const cgroup::Findings findings = access.groups->ask(asked.nodes);
    GPUCTR_CHECK(judge_denied(asked, findings, warnings));
    plan_rules(asked, findings, access);
    if (!findings.unknown.empty())
        tell(warnings, not_known(findings.unknown));
    return access;
}

NodesInUse ask_about_nodes(const program::Program& program, int rootfs_fd, int pidfd)
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
        return {{}, not_known(groups.error().message())};
    const cgroup::Findings findings = groups->ask(nodes);
    NodesInUse found;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (findings.verdicts[i] == Verdict::denied || findings.verdicts[i] == Verdict::unlisted)
            found.denied.push_back({paths[i], findings.group});
    if (!findings.unknown.empty())
        found.unknown = not_known(findings.unknown);
    return found;
}

} // namespace gpucontainer::apply
