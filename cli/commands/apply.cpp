// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "runtime/run.hpp"
#include "settings/origins.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Outcome;

struct Options {
    explicit Options(const Origins& settings) : origins(settings) {}

    RequestOptions request;
    RunOptions run;
    RootOptions root;
    std::string state;
    bool no_journal = false;
    const char* wants_journal = nullptr; ///< What was typed that needs one.
    bool no_replace = false;
    bool replace = false; ///< Typed, whatever a site has.
    const Origins& origins;
};

/// That somebody else's GPUs were taken away is no detail.
void tell(Outcome outcome, const char* applied, const RootDirectory& root, const Messages& messages)
{
    const Verbosity least = outcome == Outcome::replaced ? Verbosity::normal : Verbosity::verbose;
    if (messages.verbosity < least)
        return;
    say(messages.err, "gpuctr-setup: {}: {}\n", printable(root.name()),
        outcome == Outcome::applied     ? applied
        : outcome == Outcome::unchanged ? "set up already"
                                        : "an older set-up was replaced");
}

/// Another set-up is there. How else it can go depends on what keeps it.
[[noreturn]] void refuse(const gpucontainer::Error& kept, const Options& options)
{
    const std::string site = options.origins.place_of("no-replace");
    const std::string way = site.empty() ? "without --no-replace"
                                         : formatted("with --replace, which overrules {},", site);
    throw gpucontainer::Error(kept.status(), kept.what(),
                              formatted("{}; {} this call takes it away first", kept.hint(), way),
                              kept.os_error());
}

void apply(const Options& options, const Messages& messages)
{
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY));
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    const gpucontainer::Plan plan(host, options.request.request(), root.fd());
    warn_about(plan, messages);
    auto how = root.apply_options(state_directory(options.state));
    how.no_replace = options.no_replace;
    how.warn = [&](std::string_view text) { messages.warn(text); };
    try {
        tell(plan.apply(root.fd(), how), "set up", root, messages);
    } catch (const gpucontainer::Error& error) {
        if (error.status() == GPUCTR_E_EXISTS)
            refuse(error, options);
        throw;
    }
}

/// What is mounted goes with the mount namespace; names, which would not, are not written.
void apply_without_journal(const Options& options, const Messages& messages)
{
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT);
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    gpucontainer::Request request = options.request.request();
    request.write = GPUCTR_WRITE_NEVER;
    const gpucontainer::Plan plan(host, request, root.fd());
    warn_about(plan, messages);
    auto how = root.apply_options(state_directory(options.state)); // of the set-ups of others
    how.without_journal = true;
    const Outcome outcome = plan.apply(root.fd(), how);
    tell(outcome, "set up until this mount namespace ends", root, messages);
}

int run_command(const Options& options, const std::vector<std::string>& command_line,
                const Messages& messages)
{
    prepare_to_run();
    const RootDirectory root = options.root.open();
    const gpucontainer::Request request = options.request.request();
    const bool if_present = options.request.host.if_present;
    std::optional<Gpus> gpus;
    with_gpu(if_present, messages, [&] {
        gpus.emplace(Gpus{options.request.host.open(), request, if_present});
    });
    RunOptions how = options.run;
    how.mount_label = request.mount_label;
    return run({root.fd(), root.name()}, gpus, how, command_line, messages);
}

gpucontainer::Error usage(const std::string& problem) { return usage_error_of("apply", problem); }

const char* reason_for_a_journal(const Options& options)
{
    if (!options.state.empty())
        return "there is nothing to keep in --state-dir";
    if (options.root.pid)
        return "--pid needs a journal: the container goes on, and only undo takes the set-up away";
    if (options.request.write == GPUCTR_WRITE_ALWAYS)
        return "what --write always creates could not be undone";
    if (options.replace)
        return "nothing is replaced without a journal";
    return nullptr;
}

/// What was typed and does not go together. A site's settings are no such
/// mistake: they are for whichever form they fit.
void check_command_line(const Options& options, bool with_command)
{
    if (!with_command && options.run.is_set())
        throw usage("--chdir, --setenv, --clean-env, --bind and --allow-setuid go with -- CMD");
    if (with_command && options.root.pid)
        throw usage("--pid: a command of its own has a container of its own");
    if (with_command && !options.state.empty())
        throw usage("--state-dir: with -- CMD there is nothing to undo");
    if (with_command && (options.no_replace || options.replace))
        throw usage("--replace and --no-replace: with -- CMD nothing is replaced");
    if (with_command && options.request.write == GPUCTR_WRITE_ALWAYS)
        throw usage("--write always: with -- CMD nothing is ever written");
    if (with_command && options.no_journal)
        throw usage("--no-journal: -- CMD keeps none anyway");
    if (options.no_journal && options.wants_journal != nullptr)
        throw usage(formatted("--no-journal: {}", options.wants_journal));
}

void check_complete(const Options& options)
{
    if (options.request.host.vendors.empty())
        throw usage("name a vendor, such as --nv, or --gpu for all");
    if (!options.root.is_given())
        throw usage("--rootfs is required");
}

} // namespace

/// `gpuctr-setup apply`, the default command: set the GPUs up in a root file
/// system, or in private namespaces to run a command in.
void add_apply_command(CLI::App& app, Command& chosen, const Verbosity& verbosity,
                       const std::vector<std::string>& command_line, const Origins& origins)
{
    auto options = std::make_shared<Options>(origins);

    CLI::App& command =
        *app.add_subcommand("apply", "set the GPUs up in a root file system (the default)");
    options->request.add_to(command);
    options->root.add_to(command);
    add_state_option(command, options->state);
    command.add_flag("--no-journal", options->no_journal,
                     "for a runtime's hook: ends with the mount namespace, and cannot be undone");
    CLI::Option* const replace =
        command.add_flag("--replace", options->replace, "an older set-up goes first (the default)");
    command
        .add_flag("--no-replace", options->no_replace,
                  "an older set-up that may be in use stays, which is an error")
        ->excludes(replace);
    command.add_option("--chdir", options->run.directory, "working directory of CMD")
        ->type_name("DIR");
    command.add_option("--setenv", options->run.variables, "variable for CMD; repeatable")
        ->type_name("NAME=VALUE");
    command.add_flag("--clean-env", options->run.clean_environment,
                     "CMD gets none of the caller's variables but TERM and those that choose GPUs");
    command.add_option("--bind", options->run.binds, "further directory or file; repeatable")
        ->type_name("SRC[:DST[:ro]]");
    command.add_flag("--allow-setuid", options->run.allow_setuid,
                     "setuid programs that CMD executes have their effect");
    command.footer("-- CMD ...  run CMD there in private namespaces; nothing is written into DIR");

    command.callback([options, &chosen, &verbosity, &command_line] {
        options->wants_journal = reason_for_a_journal(*options);
        check_command_line(*options, !command_line.empty());
        chosen = [options, &verbosity, &command_line](const Streams& streams) -> int {
            check_complete(*options);
            const Messages messages = {streams.err, verbosity};
            if (!command_line.empty())
                return run_command(*options, command_line, messages);
            // A site's setting is for calls that do not need one.
            const bool journal = !options->no_journal || options->wants_journal != nullptr;
            with_gpu(options->request.host.if_present, messages, [&] {
                journal ? apply(*options, messages) : apply_without_journal(*options, messages);
            });
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup
