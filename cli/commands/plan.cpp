// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/dry_run.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

using gpucontainer::Plan;

struct Options {
    RequestOptions request;
    RootOptions root;
};

void show(const Options& options, Format format, const Call& call)
{
    const Messages messages = call.messages();
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK));
    // With --if-present and no GPU, apply sets up nothing: there is nothing to show.
    const gpucontainer::Host host = options.request.host.open(!options.request.host.if_present);
    std::optional<RootDirectory> root;
    if (options.root.is_given())
        root.emplace(options.root.open());
    const Plan plan(host, options.request.request(root ? root->fd() : -1, messages),
                    root ? root->fd() : -1);
    warn_about(host.findings(), messages);
    warn_about(plan.findings(), messages);
    if (format == Format::json)
        print(call.streams.out, "{}", plan.to_json());
    else
        print_plan(plan, call.verbosity, call.streams);
    if (format == Format::text && root && !options.root.pid)
        print_mount_point_note(root->name(), call.streams);
}

/// Prints what apply would do, and changes nothing.
class PlanCommand : public Command {
public:
    void add_options(CLI::App& app) override
    {
        options_.request.add_to(app);
        options_.request.host.add_record_to(app);
        options_.root.add_to(app);
        add_format_to(app);
    }

    int run(const Call& call) override
    {
        with_gpu(options_.request.host.if_present, call.messages(),
                 [&] { show(options_, format(), call); });
        return ExitCode::done;
    }

private:
    Options options_;
};

} // namespace

const CommandEntry plan_command = {
    "plan", "show what apply would do, and why", "[VENDOR...] [--rootfs DIR] [OPTION]...",
    R"(
Show what `gpuctr-setup apply` would do with the same options. Nothing is
changed. -v adds the reason for each item, and what was left out. Without
--rootfs, show what a typical root file system would get.

Examples:
  gpuctr-setup plan --nv --rootfs /srv/image
      what would be mounted and created in /srv/image
  gpuctr-setup plan --nv --host host.json --format json
      for another machine, from its record host.json
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<PlanCommand>(); }};

} // namespace gpuctr_cli
