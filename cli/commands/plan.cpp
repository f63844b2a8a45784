// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "options/values.hpp"
#include "output/findings.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

using gpucontainer::Plan;

struct Options {
    RequestOptions request;
    RootOptions root;
};

void print_items(const Plan& plan, Verbosity verbosity, const Streams& streams)
{
    const bool reasons = verbosity == Verbosity::verbose;
    Table table(reasons ? std::vector<std::string>{"KIND", "TARGET", "SOURCE", "OPTIONS", "REASON"}
                        : std::vector<std::string>{"KIND", "TARGET", "SOURCE", "OPTIONS"});
    for (const auto item : plan.items()) {
        std::vector<std::string> row = {std::string(item.kind()), printable(item.target()),
                                        printable(item.source()), std::string(item.options())};
        if (reasons)
            row.push_back(printable(item.reason()));
        table.add(std::move(row));
    }
    table.print(streams.out, streams.of_out);
}

void print_plan(const Plan& plan, Verbosity verbosity, const Streams& streams)
{
    print_items(plan, verbosity, streams);
    print_needs(plan.findings(), streams.out, streams.of_out);
    if (verbosity == Verbosity::verbose)
        print_notes(plan.findings(), streams.out, streams.of_out);
}

/// Apply makes the root a mount point, which programs that copy it can trip over.
void print_note(const std::string& root, const Streams& streams)
{
    print(streams.out,
          "\n{} {} is a mount point until it is undone: `systemd-nspawn --ephemeral` copies such a "
          "directory into itself, until the disk is full\n",
          streams.of_out.heading("note:"), printable(root));
}

void show(const Options& options, Format format, const Call& call)
{
    const Messages messages = call.messages();
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK));
    // With --if-present and no GPU, apply sets up nothing: there is nothing to show.
    const gpucontainer::Host host = options.request.host.open(!options.request.host.if_present);
    std::optional<RootDirectory> root;
    if (options.root.is_given())
        root.emplace(options.root.open());
    const Plan plan(host, options.request.request(), root ? root->fd() : -1);
    warn_about(host.findings(), messages);
    warn_about(plan.findings(), messages);
    if (format == Format::json)
        print(call.streams.out, "{}", plan.to_json());
    else
        print_plan(plan, call.verbosity, call.streams);
    if (format == Format::text && root && !options.root.pid)
        print_note(root->name(), call.streams);
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
