// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

void stage(const RequestOptions& options, const Messages& messages)
{
    const gpucontainer::Host host = options.host.open();
    const gpucontainer::Plan plan(host, options.request(), -1);
    const auto outcome = plan.stage(options.staged_tree);
    if (messages.verbosity == Verbosity::verbose)
        messages.tell(formatted("{}: {}", options.staged_tree,
                                outcome == gpucontainer::Staged::made ? "staged"
                                : outcome == gpucontainer::Staged::unchanged
                                    ? "staged already"
                                    : "an older tree was replaced"));
}

void unstage(const std::string& directory, const Messages& messages)
{
    const bool found = gpucontainer::unstage(directory);
    if (!found && messages.verbosity != Verbosity::quiet)
        messages.tell(formatted("nothing is staged at {}", directory));
    if (found && messages.verbosity == Verbosity::verbose)
        messages.tell(formatted("{}: unmounted", directory));
}

/// Stages this node's driver tree for later set-ups.
class Prepare : public Command {
public:
    void add_options(CLI::App& app) override
    {
        request_.add_staging_to(app);
        request_.add_loading_to(app);
        CLI::Option* const undo = app.add_flag("--undo", undo_, "unmount the staged tree");
        app.get_option("--load-kmods")->excludes(undo);
        add_format_to(app);
    }

    void check_typed(const Call& /*call*/) override { request_.check_typed_loading("prepare"); }

    void check_complete() const override
    {
        if (!undo_ && request_.host.vendors.empty())
            throw usage_error_of("prepare", "name a vendor, such as --nv, or --gpu for all");
    }

    int run(const Call& call) override
    {
        const auto shrink = [] { shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT); };
        if (undo_) {
            shrink();
            unstage(request_.staged_tree, call.messages());
            return ExitCode::done;
        }
        with_gpu(request_.host.if_present, call.messages(), [&] {
            request_.load_kmods(call.messages());
            shrink();
            stage(request_, call.messages());
        });
        return ExitCode::done;
    }

private:
    RequestOptions request_;
    bool undo_ = false;
};

} // namespace

const CommandEntry prepare_command = {
    "prepare", "stage the driver's files once, so that later set-ups are quicker",
    "VENDOR... [OPTION]...\n"
    "--undo [--staged-tree DIR]",
    R"(
Mount the tree of driver files once on this host, at boot or in a scheduler's
prolog. Later set-ups clone it, which is quicker than building their own.
--undo unmounts it; containers keep their clones.

Examples:
  gpuctr-setup prepare --nv
      stage the tree of the NVIDIA driver
  gpuctr-setup prepare --undo
      unmount it
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Prepare>(); }};

} // namespace gpuctr_cli
