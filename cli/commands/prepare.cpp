// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "output/failure.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

struct Options {
    RequestOptions request;
    bool undo = false;
};

void stage(const Options& options, const Messages& messages)
{
    const gpucontainer::Host host = options.request.host.open();
    const gpucontainer::Plan plan(host, options.request.request(), -1);
    const auto outcome = plan.stage(options.request.staged_tree);
    if (messages.verbosity == Verbosity::verbose)
        say(messages.err, "gpuctr-setup: {}: {}\n", printable(options.request.staged_tree),
            outcome == gpucontainer::Staged::made        ? "staged"
            : outcome == gpucontainer::Staged::unchanged ? "staged already"
                                                         : "an older tree was replaced");
}

int prepare(const Options& options, Verbosity verbosity, const Streams& streams)
{
    if (options.request.host.vendors.empty())
        throw usage_error_of("prepare", "name a vendor, such as --nv, or --gpu for all");
    const Messages messages = {streams.err, verbosity};
    with_gpu(options.request.host.if_present, messages, [&] { stage(options, messages); });
    return ExitCode::done;
}

int unstage(const Options& options, Verbosity verbosity, const Streams& streams)
{
    const bool found = gpucontainer::unstage(options.request.staged_tree);
    if (!found && verbosity != Verbosity::quiet)
        say(streams.err, "gpuctr-setup: nothing is staged at {}\n",
            printable(options.request.staged_tree));
    if (found && verbosity == Verbosity::verbose)
        say(streams.err, "gpuctr-setup: {}: unmounted\n", printable(options.request.staged_tree));
    return ExitCode::done;
}

} // namespace

/// `gpuctr-setup prepare`: stage this node's driver tree for later set-ups.
void add_prepare_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    auto options = std::make_shared<Options>();

    CLI::App& command = *app.add_subcommand(
        "prepare", "stage the driver's files once, so that later set-ups are quicker");
    options->request.add_staging_to(command);
    command.add_flag("--undo", options->undo, "unmount what was staged");

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) {
            shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT);
            return options->undo ? unstage(*options, verbosity, streams)
                                 : prepare(*options, verbosity, streams);
        };
    });
}

} // namespace gpuctr_setup
