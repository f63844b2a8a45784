// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>
#include <vector>

namespace gpuctr_setup {
namespace {

using gpucontainer::Applied;
using gpucontainer::Undone;

struct Options {
    RootOptions root;
    bool all = false;
    std::string state;
};

int undo_root(const Options& options, Verbosity verbosity, const Streams& streams)
{
    const RootDirectory root = options.root.open();
    const Messages messages = {streams.err, verbosity};
    auto apply = root.apply_options(state_directory(options.state));
    apply.warn = [&](std::string_view text) { messages.warn(text); };
    const bool found = gpucontainer::undo(root.fd(), apply);
    if (!found && verbosity != Verbosity::quiet)
        say(streams.err, "gpuctr-setup: nothing is set up in {}\n", printable(root.name()));
    if (found && verbosity == Verbosity::verbose)
        say(streams.err, "gpuctr-setup: {}: undone\n", printable(root.name()));
    return ExitCode::done;
}

std::string name_of(const Applied& applied)
{
    return applied.root().empty()
               ? formatted("a container of mount namespace {}", applied.mount_namespace())
               : printable(applied.root());
}

void tell(const Applied& applied, Undone undone, Verbosity verbosity, const Streams& streams)
{
    if (undone == Undone::left && verbosity != Verbosity::quiet)
        say(streams.err, "gpuctr-setup: {}: left, {}\n", name_of(applied),
            applied.origin() == "another_namespace"
                ? formatted("in use in mount namespace {}", applied.mount_namespace())
                : "not to be reached from here");
    else if (verbosity == Verbosity::verbose)
        say(streams.err, "gpuctr-setup: {}: {}\n", name_of(applied),
            undone == Undone::undone ? "undone" : "gone, and forgotten");
}

/// One that fails does not keep the others; the first failure is the outcome.
int undo_all(const Options& options, Verbosity verbosity, const Streams& streams)
{
    gpucontainer::ApplyOptions apply;
    apply.state_dir = state_directory(options.state);
    const gpucontainer::State state(-1, apply);
    std::vector<Applied> all(state.begin(), state.end());
    // Their mounts may lie over names that set-ups of ended namespaces left.
    std::stable_partition(all.begin(), all.end(),
                          [](const Applied& applied) { return applied.origin() == "here"; });
    if (all.empty() && verbosity == Verbosity::verbose)
        say(streams.err, "gpuctr-setup: nothing is set up\n");
    const Messages messages = {streams.err, verbosity};
    int code = ExitCode::done;
    for (const Applied& applied : all) {
        apply.warn = [&](std::string_view text) {
            messages.warn(formatted("{}: {}", name_of(applied), text));
        };
        try {
            tell(applied, applied.undo(apply), verbosity, streams);
        } catch (const gpucontainer::Error& error) {
            const int failed = report(error, streams.err);
            code = code == ExitCode::done ? failed : code;
        }
    }
    return code;
}

} // namespace

/// `gpuctr-setup undo`: take away what apply did, and only that.
void add_undo_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    auto options = std::make_shared<Options>();

    CLI::App& command = *app.add_subcommand("undo", "take away what apply did, and only that");
    options->root.add_to(command);
    CLI::Option* const all = command.add_flag("--all", options->all, "in every root file system");
    for (const char* const one : {"--rootfs", "--rootfs-fd", "--pid"})
        all->excludes(command.get_option(one));
    add_state_option(command, options->state);

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) {
            options->root.require_or_all(options->all, "undo");
            shrink_privileges(options->root.phases(GPUCTR_PHASE_APPLY));
            return options->all ? undo_all(*options, verbosity, streams)
                                : undo_root(*options, verbosity, streams);
        };
    });
}

} // namespace gpuctr_setup
