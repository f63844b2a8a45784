// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_directory.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/privileges.hpp"
#include "runtime/container_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

/// What a runtime writes to its hooks is a few hundred bytes long.
constexpr std::size_t largest_state = 1U << 20U;

enum class Stage : std::uint8_t { create_container, create_runtime, prestart };

const NamedValues<Stage>& stages()
{
    static const NamedValues<Stage> names = {{"createContainer", Stage::create_container},
                                             {"createRuntime", Stage::create_runtime},
                                             {"prestart", Stage::prestart}};
    return names;
}

/// What is on standard input.
std::string read_state()
{
    std::string text;
    std::array<char, 4096> part = {};
    while (text.size() <= largest_state) {
        const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
        if (count == 0)
            return text;
        if (count < 0 && errno != EINTR)
            fail("read the state of the container from standard input", GPUCTR_E_USAGE);
        if (count > 0)
            text.append(part.data(), static_cast<std::size_t>(count));
    }
    throw gpucontainer::Error(GPUCTR_E_USAGE,
                              "the state of the container on standard input is too long",
                              "an OCI runtime calls this command as a hook", 0);
}

/// The vendors that the container asks for, of those that are typed if any are.
std::vector<std::string> wanted(const std::vector<std::string>& typed,
                                std::vector<std::string> asked)
{
    if (!typed.empty() && std::find(typed.begin(), typed.end(), GPUCTR_VENDOR_ANY) == typed.end())
        std::erase_if(asked, [&](const std::string& vendor) {
            return std::find(typed.begin(), typed.end(), vendor) == typed.end();
        });
    return asked;
}

/// Names go into the container's own layer, which is removed with it; so there is no journal.
void set_up(const gpucontainer::HookState& state, bool joins, const HostOptions& host,
            const RequestOptions& options, const Messages& messages)
{
    if (joins && state.pid() == 0)
        throw gpucontainer::Error(GPUCTR_E_USAGE, "the state of the container names no process",
                                  "use the stage createContainer", 0);
    if (joins)
        join_namespaces(state.pid());
    else
        require_own_mount_namespace();
    const gpucontainer::Host found = host.open();
    const RootDirectory root = RootDirectory::at(std::string(state.rootfs()));
    gpucontainer::Request request = options.request(root.fd(), messages);
    const std::vector<std::string> variables = state.variables();
    request.container_environment.insert(request.container_environment.begin(), variables.begin(),
                                         variables.end());
    const gpucontainer::Plan plan(found, request, root.fd());
    warn_about(plan.findings(), messages);
    gpucontainer::ApplyOptions how;
    how.without_journal = true;
    options.set(how);
    (void)plan.apply(root.fd(), how);
}

/// A hook of OCI runtimes, at the stages createContainer, createRuntime and prestart.
class Hook : public Command {
public:
    Hook() { request_.capabilities = "compute,utility"; }

    void add_options(CLI::App& app) override
    {
        request_.add_to(app);
        app.option_defaults()->group(where);
        add_choice(app, "--stage", stages(), stage_,
                   "the stage at which the runtime calls it, if not createContainer");
    }

    int run(const Call& call) override
    {
        const Messages messages = call.messages();
        const gpucontainer::HookState state(read_state());
        HostOptions host = request_.host;
        host.vendors = wanted(host.vendors, state.vendors());
        if (host.vendors.empty()) {
            if (messages.verbosity == Verbosity::verbose)
                messages.tell("the container asks for no GPU");
            return ExitCode::done;
        }
        shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY | GPUCTR_PHASE_IN_PROCESS);
        with_gpu(host.if_present, messages, [&] {
            set_up(state, stage_ != Stage::create_container, host, request_, messages);
        });
        return ExitCode::done;
    }

private:
    RequestOptions request_;
    Stage stage_ = Stage::create_container;
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
A container that asks for none is left as it is.

Use it at the stage createContainer. With `--stage createRuntime` or `--stage
prestart` it joins the namespaces of the container's process. No variable of its
own environment counts, because that may be the container's.

Names are made in the container's own layer, which is removed with it. There is
no journal, and nothing to undo.

Examples:
  gpuctr-setup hook
      what every container asks for
  gpuctr-setup hook --nv --if-present
      only NVIDIA GPUs; a host without any is no error
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Hook>(); },
    false,
    true};

} // namespace gpuctr_cli
