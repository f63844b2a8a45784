// SPDX-License-Identifier: MIT
#include "front/session.hpp"
#include "front/translation.hpp"
#include "options/root_directory.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/descriptor.hpp"
#include "process/privileges.hpp"
#include "runtime/container_process.hpp"
#include "syscall/capabilities.hpp"
#include "syscall/id_map.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <linux/capability.h>
#include <optional>
#include <string>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
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

bool may_be_written(int root)
{
    struct statvfs status = {};
    return ::fstatvfs(root, &status) == 0 && (status.f_flag & ST_RDONLY) == 0
           && ::faccessat(root, ".", W_OK, AT_EACCESS) == 0;
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

void apply(const FrontSession& session, const Plan& plan, int root)
{
    gpucontainer::ApplyOptions how;
    how.without_journal = true;
    session.options.set(how);
    (void)plan.apply(root, how);
}

/// The process whose device cgroup is meant, as it was before its namespaces are joined.
struct Member {
    explicit Member(const FrontArguments& arguments)
        : Member(arguments.pid.value_or(::getppid()), arguments.rootfs)
    {
    }

    Fd pidfd;
    std::vector<std::string> bundles; ///< Where the runtime's configuration may lie.

private:
    Member(int pid, const std::string& rootfs)
        : pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))
    {
        if (!pidfd)
            fail(formatted("process {}", pid), GPUCTR_E_ROOTFS);
        // Runtimes work in the bundle. By default, the root directory lies in it.
        std::error_code error;
        for (const auto& place : {std::filesystem::current_path(error),
                                  std::filesystem::path(rootfs).lexically_normal().parent_path()})
            if (place.is_absolute() && std::filesystem::exists(place / "config.json", error))
                bundles.push_back(place.string());
    }
};

/// The first bundle that is of this container counts.
void allow_devices(const Plan& plan, int root, const Member& member, const FrontLog& log)
{
    for (const std::string& bundle : member.bundles) {
        try {
            plan.allow_devices(root, member.pidfd.get(), bundle);
            return;
        } catch (const Error& error) {
            if (error.status() != GPUCTR_E_USAGE)
                throw;
            log.note(formatted("{}: {}", bundle, error.what()));
        }
    }
    plan.allow_devices(root, member.pidfd.get(), "");
}

void allow_devices_or_say_how(const Plan& plan, int root, const Member& member, const FrontLog& log)
{
    try {
        allow_devices(plan, root, member, log);
    } catch (const Error& error) {
        throw Error(error.status(), error.what(),
                    "with --no-cgroups, the device cgroup is left to the container's runtime",
                    error.os_error());
    }
}

/// Does `first`, and `otherwise` if that fails. If both fail, the first error says why.
template <typename First, typename Otherwise>
auto or_else(const FrontLog& log, First first, Otherwise otherwise)
{
    try {
        return first();
    } catch (const Error& error) {
        log.note(formatted("names cannot be written: {}", error.what()));
        try {
            return otherwise();
        } catch (const Error&) {
            throw error;
        }
    }
}

/// Names go into the container's own layer: overlays of names over its directories would take away
/// that its programs can write there. Where that layer cannot be written, they appear by mounts
/// alone; so they do in what else is mounted, which may be somebody's that a caller must not write.
Plan plan_in_layer(const FrontSession& session, const gpucontainer::Host& host, Request& request,
                   int root)
{
    const auto plan_with = [&](std::uint32_t write) {
        request.write = write;
        return Plan(host, request, root);
    };
    if (request.write != GPUCTR_WRITE_AUTO)
        return {host, request, root};
    if (!may_be_written(root))
        return plan_with(GPUCTR_WRITE_NEVER);
    return or_else(
        session.log, [&] { return plan_with(GPUCTR_WRITE_LAYER); },
        [&] { return plan_with(GPUCTR_WRITE_NEVER); });
}

/// The layer may refuse a name, as a full one does.
void set_up(const FrontSession& session, const gpucontainer::Host& host, Request request,
            const Plan& plan, int root)
{
    if (request.write != GPUCTR_WRITE_LAYER)
        return apply(session, plan, root);
    or_else(
        session.log, [&] { apply(session, plan, root); },
        [&] {
            request.write = GPUCTR_WRITE_NEVER;
            apply(session, Plan(host, request, root), root);
        });
}

} // namespace

void front_configure(FrontSession& session)
{
    const FrontArguments& arguments = session.arguments;
    session.settle_request();
    session.load_kernel_modules();
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY | GPUCTR_PHASE_IN_PROCESS);
    session.phase = FrontPhase::container;
    std::optional<Member> member;
    if (arguments.cgroups)
        member.emplace(arguments);
    const RootDirectory root = enter(arguments);
    session.phase = FrontPhase::initialization;
    const gpucontainer::Host host = session.options.host.open();
    session.phase = FrontPhase::device;
    Request request = request_of(session, host, root.fd());
    const Plan plan = plan_in_layer(session, host, request, root.fd());
    tell_of(plan, session.log);
    session.phase = FrontPhase::container;
    if (member)
        allow_devices_or_say_how(plan, root.fd(), *member, session.log);
    session.phase = FrontPhase::mount;
    set_up(session, host, request, plan, root.fd());
}

} // namespace gpuctr_cli
