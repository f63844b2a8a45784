// SPDX-License-Identifier: MIT
#include "front/session.hpp"
#include "front/translation.hpp"
#include "options/root_directory.hpp"
#include "output/format.hpp"
#include "process/privileges.hpp"
#include "runtime/container_process.hpp"
#include "runtime/device_group.hpp"
#include "runtime/own_layer.hpp"
#include "syscall/capabilities.hpp"
#include "syscall/id_map.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <linux/capability.h>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;
using gpucontainer::Plan;
using gpucontainer::Request;
namespace syscall = gpucontainer::syscall;

/// The fabric manager's socket comes with the tools where the host has one.
bool has_fabric_manager(const gpucontainer::Host& host)
{
    for (const auto driver : host.drivers())
        for (const auto shared : driver.shared_paths())
            if (shared.extra() == "fabric-manager" && shared.accessible())
                return true;
    return false;
}

Request request_of(const FrontSession& session, const gpucontainer::Host& host, int root)
{
    const FrontArguments& arguments = session.arguments;
    const Messages messages(session.streams, Verbosity::normal);
    Request request = session.options.request(root, messages);
    const auto& parts = arguments.capabilities;
    if (arguments.fabric_manager && has_fabric_manager(host)
        && std::find(parts.begin(), parts.end(), "utility") != parts.end())
        request.extras += request.extras.empty() ? "fabric-manager" : ",fabric-manager";
    return request;
}

/// Whether this process could mount something in the host's mount namespace.
bool may_mount_on_host()
{
    const auto capabilities = syscall::read_capabilities();
    return (!capabilities || (capabilities->effective & syscall::bit(CAP_SYS_ADMIN)) != 0)
           && syscall::is_in_initial_user_namespace().value_or(true);
}

/// Does a step whose own hints are for the command's options.
template <typename Step>
auto with_hint(const char* hint, Step step)
{
    try {
        return step();
    } catch (const Error& error) {
        throw Error(error.status(), error.what(), hint, error.os_error());
    }
}

/// Enters the namespaces of a container, or stays in those of the caller, if they are none of the
/// host's. Where that cannot be told, and mounts of the host could be made, it has to show by the
/// root directory.
RootDirectory enter(const FrontArguments& arguments)
{
    const auto hosts = arguments.pid ? std::optional(false) : is_in_mount_namespace_of_host();
    if (hosts.value_or(false))
        throw Error(GPUCTR_E_ROOTFS, "this call is made in the mount namespace of the host",
                    "what it sets up would show there, and stay: `gpuctr-setup apply` can be "
                    "undone",
                    0);
    if (arguments.pid)
        with_hint("without --pid, it sets up the mount namespace that it is started in",
                  [&] { join_namespaces(*arguments.pid); });
    RootDirectory root = with_hint("it has the container's /usr and /etc",
                                   [&] { return RootDirectory::at(arguments.rootfs); });
    if (!hosts && may_mount_on_host())
        with_hint("this may be the mount namespace of the host: start it in that of the container, "
                  "once its /proc is mounted, or name a process of the container with --pid",
                  [&] { require_root_of_container(root.fd(), root.name()); });
    return root;
}

void tell_of(const Plan& plan, const FrontLog& log)
{
    for (const gpucontainer::Finding finding : plan.findings()) {
        if (finding.severity() >= gpucontainer::Severity::warning)
            log.warn(finding.message());
        else
            log.note(finding.message());
    }
    if (log.is_open())
        for (const gpucontainer::Item item : plan.items())
            log.note(formatted("{} {} {}", item.kind(), item.target(), item.source()));
}

/// The container's process, or the caller's parent. Runtimes work in the bundle; by default, the
/// root directory lies in it.
DeviceGroup group_of(const FrontArguments& arguments)
{
    std::vector<std::string> bundles;
    std::error_code error;
    for (const auto& place :
         {std::filesystem::current_path(error),
          std::filesystem::path(arguments.rootfs).lexically_normal().parent_path()})
        if (place.is_absolute() && std::filesystem::exists(place / "config.json", error))
            bundles.push_back(place.string());
    return {arguments.pid.value_or(::getppid()), std::move(bundles)};
}

void allow_devices_or_say_how(const Plan& plan, int root, const DeviceGroup& group,
                              const FrontLog& log)
{
    with_hint("with --no-cgroups, the device cgroup is left to the container's runtime",
              [&] { group.allow(plan, root, [&](const std::string& what) { log.note(what); }); });
}

} // namespace

void front_configure(FrontSession& session)
{
    const FrontArguments& arguments = session.arguments;
    session.settle_request();
    session.load_kernel_modules();
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY | GPUCTR_PHASE_IN_PROCESS);
    session.phase = FrontPhase::container;
    std::optional<DeviceGroup> group;
    if (arguments.cgroups)
        group.emplace(group_of(arguments));
    const RootDirectory root = enter(arguments);
    session.phase = FrontPhase::initialization;
    const gpucontainer::Host host = session.options.host.open();
    session.phase = FrontPhase::device;
    Request request = request_of(session, host, root.fd());
    LayerSetUp set_up(
        root.fd(), request.write,
        [&](std::uint32_t write) {
            request.write = write;
            return Plan(host, request, root.fd());
        },
        [&](const std::string& what) { session.log.note(what); });
    tell_of(set_up.plan(), session.log);
    session.phase = FrontPhase::container;
    if (group)
        allow_devices_or_say_how(set_up.plan(), root.fd(), *group, session.log);
    session.phase = FrontPhase::mount;
    gpucontainer::ApplyOptions how;
    session.options.set(how);
    set_up.apply(how);
}

} // namespace gpuctr_cli
