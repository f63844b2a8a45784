// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "messages.hpp"
#include "output.hpp"
#include "privileges.hpp"
#include "request_options.hpp"
#include "root_options.hpp"
#include "run.hpp"

#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

struct Options {
    RequestOptions request;
    RunOptions run;
    RootOptions root;
    std::string state;
};

void apply(const Options& options, const Messages& messages)
{
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY));
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    const gpucontainer::Plan plan(host, options.request.request(), root.fd());
    warn_about(plan, messages);
    const auto outcome = plan.apply(root.fd(), root.apply_options(state_directory(options.state)));
    if (messages.verbosity == Verbosity::verbose)
        say(messages.err, "gpuctr-setup: {}: {}\n", printable(root.name()),
            outcome == gpucontainer::Outcome::applied     ? "set up"
            : outcome == gpucontainer::Outcome::unchanged ? "set up already"
                                                          : "an older set-up was replaced");
}

gpucontainer::Error usage(const std::string& problem)
{
    return {GPUCTR_E_USAGE, problem, "gpuctr-setup --help", 0};
}

/// What was typed and does not go together. A site's settings are no such
/// mistake: they are for whichever form they fit.
void check_command_line(const Options& options, bool with_command)
{
    if (!with_command && options.run.is_set())
        throw usage("--chdir, --setenv, --bind and --allow-setuid go with -- CMD");
    if (with_command && options.root.pid)
        throw usage("--pid: a command of its own has a container of its own");
    if (with_command && !options.state.empty())
        throw usage("--state-dir: with -- CMD there is nothing to undo");
    if (with_command && options.request.write == GPUCTR_WRITE_ALWAYS)
        throw usage("--write always: with -- CMD nothing is ever written");
}

void check_complete(const Options& options)
{
    if (options.request.host.vendors == 0)
        throw usage("name a vendor, such as --nv, or --gpu for all");
    if (!options.root.is_given())
        throw usage("--rootfs is required");
}

} // namespace

/// `gpuctr-setup apply`, the default command: set the GPUs up in a root file
/// system, or in private namespaces to run a command in.
void add_apply_command(CLI::App& app, Command& chosen, const Verbosity& verbosity,
                       const std::vector<std::string>& command_line)
{
    auto options = std::make_shared<Options>();

    CLI::App& command =
        *app.add_subcommand("apply", "set the GPUs up in a root file system (the default)");
    options->request.add_to(command);
    options->root.add_to(command);
    add_state_option(command, options->state);
    command.add_option("--chdir", options->run.directory, "working directory of CMD")
        ->type_name("DIR");
    command.add_option("--setenv", options->run.variables, "variable for CMD; repeatable")
        ->type_name("NAME=VALUE");
    command.add_option("--bind", options->run.binds, "further directory or file; repeatable")
        ->type_name("SRC[:DST[:ro]]");
    command.add_flag("--allow-setuid", options->run.allow_setuid,
                     "setuid programs that CMD executes have their effect");
    command.footer("-- CMD ...  run CMD there in private namespaces; nothing is written into DIR");

    command.callback([options, &chosen, &verbosity, &command_line] {
        check_command_line(*options, !command_line.empty());
        chosen = [options, &verbosity, &command_line](const Streams& streams) -> int {
            check_complete(*options);
            const Messages messages = {streams.err, verbosity};
            if (!command_line.empty())
                return run(options->request, options->root, options->run, command_line, messages);
            with_gpu(options->request.host.if_present, messages,
                     [&] { apply(*options, messages); });
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup
