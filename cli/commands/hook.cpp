// SPDX-License-Identifier: MIT
#include "commands/any_image.hpp"
#include "commands/command.hpp"
#include "commands/runtime_input.hpp"
#include "formats/given.hpp"
#include "options/accepted_wishes.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_directory.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/system_log.hpp"
#include "process/privileges.hpp"
#include "runtime/container_process.hpp"
#include "runtime/device_group.hpp"
#include "runtime/gpus_by_nodes.hpp"
#include "runtime/own_layer.hpp"
#include "syscall/id_map.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

enum class Stage : std::uint8_t { create_container, create_runtime, prestart, precreate };

const NamedValues<Stage>& stages()
{
    static const NamedValues<Stage> names = {{"createContainer", Stage::create_container},
                                             {"createRuntime", Stage::create_runtime},
                                             {"prestart", Stage::prestart},
                                             {"precreate", Stage::precreate}};
    return names;
}

/// The vendors that the container asks for, of those that are typed if any are.
std::vector<std::string> vendors_among(const std::vector<std::string>& typed,
                                       std::vector<std::string> asked)
{
    if (!typed.empty() && std::find(typed.begin(), typed.end(), GPUCTR_VENDOR_ANY) == typed.end())
        std::erase_if(asked, [&](const std::string& vendor) {
            return std::find(typed.begin(), typed.end(), vendor) == typed.end();
        });
    return asked;
}

/// What whoever started the container may look for, and find nowhere else: runtimes show what
/// hooks print only if they fail.
void tell_and_log(const std::string& what, const Messages& messages)
{
    messages.warn(what);
    log_to_system(what);
}

/// What a filter of configurations can take, and give back as it is.
constexpr Input input_filtered = {"the configuration", 64U << 20U};

/// A text ends at a terminator, and what follows would not be looked at. No JSON document has one,
/// nor the character that stands for it.
std::string without_terminators(std::string text)
{
    std::replace(text.begin(), text.end(), '\0', '\1');
    return text;
}

/// Whether the configuration of a container is understood. If it is not, a container that asked for
/// no GPU before the fault starts without: most have nothing to do with GPUs, and what they may
/// have in it is their runtime's business. One that is known to have GPUs must not. Throws
/// gpucontainer::Error: usage.
bool is_understood(const gpucontainer::HookState& state, bool has_gpus, const Messages& messages)
{
    if (state.fault().empty())
        return true;
    if (has_gpus || !state.vendors().empty())
        throw gpucontainer::Error(
            GPUCTR_E_USAGE,
            formatted("the configuration of the container is not understood: {}", state.fault()),
            "", 0);
    tell_and_log(formatted("the configuration of the container is not understood: {}, so the "
                           "container gets no GPU",
                           state.fault()),
                 messages);
    return false;
}

/// Whether an image has no glibc, which the driver's libraries need.
bool lacks_glibc(const gpucontainer::Error& error)
{
    const std::string_view object = error.object();
    return error.status() == GPUCTR_E_ROOTFS
           && (object == "libc.so.6" || object.find("/ld") != std::string::npos);
}

/// An image that cannot use the driver's libraries, such as one with musl, keeps the nodes that it
/// has.
gpucontainer::Plan plan_with_or_without_files(const gpucontainer::Host& host,
                                              gpucontainer::Request request, int rootfs_fd,
                                              const Messages& messages)
{
    try {
        return {host, request, rootfs_fd};
    } catch (const gpucontainer::Error& error) {
        if (!lacks_glibc(error) || request.vendor_libs != GPUCTR_VENDOR_LIBS_AUTO)
            throw;
        messages.warn(error.what());
    }
    request.vendor_libs = GPUCTR_VENDOR_LIBS_NONE;
    return {host, request, rootfs_fd};
}

/// What the administrator says about a container, and what it asks for itself.
gpucontainer::Request request_of(const gpucontainer::HookState& state,
                                 const RequestOptions& options, int rootfs_fd,
                                 const Messages& messages)
{
    gpucontainer::Request request = options.request(rootfs_fd, messages);
    const std::vector<std::string> variables = state.variables();
    request.container_environment.insert(request.container_environment.begin(), variables.begin(),
                                         variables.end());
    return request;
}

void note(const std::string& what, const Messages& messages)
{
    if (messages.verbosity == Verbosity::verbose)
        messages.tell(what);
}

/// A runtime made the container's device cgroup of its configuration, which has no GPUs. Whoever
/// joins the container's user namespace has no rights over the group any more. Without rights over
/// the host, as for rootless containers, the runtime could not restrict devices either.
void open_device_group(const gpucontainer::HookState& state, const HostOptions& host,
                       const RequestOptions& options, const Messages& messages)
{
    if (!gpucontainer::syscall::is_in_initial_user_namespace().value_or(true))
        return;
    const DeviceGroup group(state.pid(), {std::string(state.bundle())});
    const gpucontainer::Host found = host.open();
    const RootDirectory root = RootDirectory::at(std::string(state.rootfs()));
    const gpucontainer::Plan plan(found, request_of(state, options, root.fd(), messages),
                                  root.fd());
    try {
        group.allow(plan, root.fd(), [&](const std::string& what) { note(what, messages); });
    } catch (const gpucontainer::Error& error) {
        throw gpucontainer::Error(
            GPUCTR_E_PERMISSION,
            formatted("device cgroup {} of the container: {}", group.path(), error.what()),
            "give the container its devices when it is created, and use the stage createContainer",
            error.os_error(), group.path());
    }
}

/// Whether the device cgroup forbids this process some node of a GPU.
bool is_narrowed_by_cgroup(const gpucontainer::Host& host)
{
    for (const auto driver : host.drivers())
        for (const auto node : driver.nodes())
            if (node.cgroup_forbids())
                return true;
    return false;
}

/// Whether a container that runs this hook in its own device cgroup may use what it asks for. If it
/// asks for all GPUs, which may be the image's wish alone, it may go without. Throws
/// gpucontainer::Error: permission, for GPUs that are named, or with `strict`.
bool is_granted(const gpucontainer::HookState& state, bool strict, const gpucontainer::Host& found,
                const gpucontainer::Request& request, int rootfs_fd, const Messages& messages)
{
    if (!is_narrowed_by_cgroup(found))
        return true;
    try {
        const gpucontainer::Plan plan(found, request, rootfs_fd);
        for (const auto finding : plan.findings())
            if (state.names_gpus() && finding.code() == "variable_contradicted")
                throw gpucontainer::Error(GPUCTR_E_PERMISSION, finding.message(),
                                          "give the container its devices when it is created", 0);
    } catch (const gpucontainer::Error& error) {
        if (error.status() != GPUCTR_E_PERMISSION || state.names_gpus() || strict)
            throw;
        tell_and_log(
            formatted("the container asks for all GPUs and is granted none: {}", error.what()),
            messages);
        return false;
    }
    return true;
}

void require_process(const gpucontainer::HookState& state)
{
    if (state.pid() == 0)
        throw gpucontainer::Error(GPUCTR_E_USAGE, "the state of the container names no process",
                                  "use the stage createContainer", 0);
}

/// From here on, what is set up shows in the container alone.
void enter_container(const gpucontainer::HookState& state, bool joins)
{
    if (joins)
        join_namespaces(state.pid());
    else if (is_in_mount_namespace_of_host().value_or(false))
        throw gpucontainer::Error(GPUCTR_E_ROOTFS,
                                  "this hook runs in the mount namespace of the host",
                                  "what it sets up would show there: use the stage "
                                  "createContainer, or name that of the hook with --stage",
                                  0);
}

/// How a hook sets up.
struct Manner {
    bool by_nodes;
    bool joins; ///< Otherwise it is in the container's namespaces and its device cgroup.
    bool strict;
};

/// Names go into the container's own layer, which is removed with it; so there is no journal.
void set_up(const gpucontainer::HookState& state, const Manner& manner, const HostOptions& host,
            const RequestOptions& options, const Messages& messages)
{
    const bool by_nodes = manner.by_nodes;
    const gpucontainer::Host found = host.open();
    const RootDirectory root = RootDirectory::at(std::string(state.rootfs()));
    require_root_of_container(root.fd(), root.name());
    gpucontainer::Request request = by_nodes ? options.request(root.fd(), messages)
                                             : request_of(state, options, root.fd(), messages);
    if (by_nodes) {
        request.devices = gpus_by_nodes(found, request, root.fd());
        if (request.devices.empty())
            return note("the container has the nodes of no GPU", messages);
    } else if (!manner.joins
               && !is_granted(state, manner.strict, found, request, root.fd(), messages)) {
        return;
    }
    LayerSetUp set_up(
        root.fd(), request.write,
        [&](std::uint32_t write) {
            request.write = write;
            return by_nodes ? plan_with_or_without_files(found, request, root.fd(), messages)
                            : gpucontainer::Plan(found, request, root.fd());
        },
        [&](const std::string& what) { note(what, messages); });
    warn_about(set_up.plan().findings(), messages);
    if (by_nodes)
        require_nodes_of_engine(set_up.plan(), root.fd());
    gpucontainer::ApplyOptions how;
    options.set(how);
    set_up.apply(how);
}

/// A hook of OCI runtimes, at the stages createContainer, createRuntime and prestart; and of
/// engines at the stage precreate, as a filter of the configuration.
class Hook : public Command {
public:
    Hook() { request_.capabilities = "compute,utility"; }

    void add_options(CLI::App& app) override
    {
        request_.add_to(app);
        // The configuration has the container's environment. An image's files would be obeyed
        // whatever is accepted.
        app.remove_option(app.get_option("--image-env"));
        app.option_defaults()->group(which_gpus);
        accepted_.add_to(app);
        app.add_flag("--strict", strict_,
                     "at the stage createContainer: a container that asks for all GPUs must be "
                     "granted one");
        app.option_defaults()->group(where);
        add_choice(app, "--stage", stages(), stage_,
                   "the stage at which the runtime calls it, if not createContainer");
        app.add_flag("--by-nodes", by_nodes_,
                     "set up the GPUs whose device nodes the container has, whatever its "
                     "environment asks for");
        add_files_dir_option(app, files_directory_, "at the stage precreate");
        app_ = &app;
    }

    void check_typed(const Call& /*call*/) override
    {
        if (by_nodes_ && (stage_ == Stage::precreate || app_->count("--device") != 0))
            throw usage_error_of("hook", "--by-nodes goes neither with --stage precreate nor with "
                                         "--device");
        if (by_nodes_ && app_->count("--accept") != 0)
            throw usage_error_of("hook", "--by-nodes does not go with --accept: the engine's nodes "
                                         "say which GPUs");
        if (app_->count("--strict") != 0 && (by_nodes_ || stage_ != Stage::create_container))
            throw usage_error_of("hook", "--strict goes with the stage createContainer");
        if (stage_ == Stage::precreate)
            refuse_options_of_a_root(*app_, "hook", "--stage precreate");
        else if (app_->count("--files-dir") != 0)
            throw usage_error_of("hook", "--files-dir goes with --stage precreate");
    }

    int run(const Call& call) override
    {
        if (stage_ == Stage::precreate) {
            const std::string config = read_some_input(input_filtered);
            print(call.streams.out, "{}", filtered(config, call.messages()));
            if (config.size() > input_filtered.largest) // it was not understood
                pass_on_input(input_filtered, call.streams.out);
            return ExitCode::done;
        }
        const Messages messages = call.messages();
        const gpucontainer::HookState state(read_input(input_state), accepted_.flags());
        if (!is_understood(state, by_nodes_, messages))
            return ExitCode::done;
        const HostOptions host = wanted_of(state, messages);
        if (host.vendors.empty())
            return ExitCode::done;
        shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY | GPUCTR_PHASE_IN_PROCESS);
        with_gpu(host.if_present, messages, [&] {
            const Manner manner = {by_nodes_, stage_ != Stage::create_container, strict_};
            if (manner.joins)
                require_process(state);
            if (manner.joins && !by_nodes_)
                open_device_group(state, host, request_, messages);
            enter_container(state, manner.joins);
            set_up(state, manner, host, request_, messages);
        });
        return ExitCode::done;
    }

private:
    /// With the vendors of which the container asks for something; maybe none.
    HostOptions wanted_of(const gpucontainer::HookState& state, const Messages& messages) const
    {
        HostOptions host = request_.host;
        if (by_nodes_ && host.vendors.empty())
            host.vendors = {GPUCTR_VENDOR_ANY};
        if (by_nodes_)
            return host;
        host.vendors = vendors_among(host.vendors, state.vendors());
        const auto refused = state.refused();
        if (!refused.empty())
            tell_and_log(formatted("the container's wish for GPUs does not count: {}, with "
                                   "--accept {}",
                                   fmt::join(refused, "; "), accepted_.list),
                         messages);
        if (host.vendors.empty() && refused.empty() && messages.verbosity == Verbosity::verbose)
            messages.tell("the container asks for no GPU");
        return host;
    }

    /// The configuration of a container that is yet to be made, with the GPUs that it asks for.
    std::string with_gpus_of(const std::string& config, const gpucontainer::HookState& state,
                             const HostOptions& host, const Messages& messages) const
    {
        const gpucontainer::Host found = host.open();
        gpucontainer::Request request = request_for_any_image(request_, messages);
        const std::vector<std::string> variables = state.variables();
        request.container_environment.insert(request.container_environment.begin(),
                                             variables.begin(), variables.end());
        const gpucontainer::Plan plan(found, request, -1);
        warn_about(plan.findings(), messages);
        std::string edited = plan.edit_oci(config, files_directory_);
        const auto missing = missing_files(plan, found, files_directory_);
        if (!missing.empty())
            messages.warn(formatted("left out, because they are not there: {}: {}",
                                    fmt::join(missing, ", "), how_to_make_files(files_directory_)));
        return edited;
    }

    std::string filtered(const std::string& config, const Messages& messages) const
    {
        const auto state =
            gpucontainer::HookState::of_config(without_terminators(config), accepted_.flags());
        std::string with_gpus = config;
        if (!is_understood(state, false, messages))
            return with_gpus;
        const HostOptions host = wanted_of(state, messages);
        if (host.vendors.empty())
            return with_gpus;
        shrink_privileges(GPUCTR_PHASE_LOOK);
        with_gpu(host.if_present, messages,
                 [&] { with_gpus = with_gpus_of(config, state, host, messages); });
        return with_gpus;
    }

    RequestOptions request_;
    Stage stage_ = Stage::create_container;
    bool by_nodes_ = false;
    AcceptedWishes accepted_;
    bool strict_ = false;
    std::string files_directory_ = usual_files_directory;
    const CLI::App* app_ = nullptr;
};

} // namespace

const CommandEntry hook_command = {
    "hook",
    "set up what a container asks for, as an OCI hook",
    "[VENDOR...] [OPTION]...",
    R"(
Read the state of a container from standard input, as an OCI runtime gives it
to hooks, and set up the GPUs that the environment in its configuration asks
for: NVIDIA_VISIBLE_DEVICES, AMD_VISIBLE_DEVICES or HABANA_VISIBLE_DEVICES.
A container that asks for none is left as it is. `--accept` says whose wish
counts.

Use it at the stage createContainer. With `--stage createRuntime` or `--stage
prestart` it joins the namespaces of the container's process, after it has let
the container's device cgroup use the GPUs. No variable of the hook's own
environment counts, because that may be the container's.

Names are made in the container's own layer, which is removed with it. There is
no journal, and nothing to undo.

With `--by-nodes`, as `cdi generate --hooks` has engines call it, the device
nodes that the engine gave to the container say which GPUs.

With `--stage precreate`, as podman and CRI-O call it before they make a
container, read its configuration instead, and print it with the GPUs added. It
needs no privileges, and nothing is mounted or made.

Examples:
  gpuctr-setup hook
      what every container asks for
  gpuctr-setup hook --nv --if-present
      only NVIDIA GPUs; a host without any is no error
  gpuctr-setup hook --accept mounts,privileged
      for Kubernetes: what its device plugin gives, and all to privileged pods
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Hook>(); },
    false,
    true};

} // namespace gpuctr_cli
