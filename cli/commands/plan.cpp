// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/skipped.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Plan;

struct Options {
    RequestOptions request;
    RootOptions root;
    Format format = Format::text;
};

void print_items(const Plan& plan, Verbosity verbosity, std::FILE* out)
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
    table.print(out);
}

void print_plan(const Plan& plan, Verbosity verbosity, std::FILE* out)
{
    print_items(plan, verbosity, out);
    for (const std::string_view need : plan.needs())
        print(out, "\nneeds {}\n", printable(need));
    if (verbosity == Verbosity::verbose)
        print_skipped(plan.skipped(), out);
}

/// Apply binds a root on itself, and leaves one be that is a mount already.
void print_note(const std::string& root, std::FILE* out)
{
    print(
        out,
        "\nnote: {} is a mount point until it is undone: `systemd-nspawn --ephemeral` copies such "
        "a directory into itself, until the disk is full\n",
        printable(root));
}

void show(const Options& options, const Messages& messages, std::FILE* out)
{
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK));
    // With --if-present apply sets nothing up, and so there is nothing to be shown.
    const gpucontainer::Host host = options.request.host.open(!options.request.host.if_present);
    std::optional<RootDirectory> root;
    if (options.root.is_given())
        root.emplace(options.root.open());
    const Plan plan(host, options.request.request(), root ? root->fd() : -1);
    warn_about(host, messages);
    warn_about(plan, messages);
    if (options.format == Format::json)
        print(out, "{}", plan.to_json());
    else
        print_plan(plan, messages.verbosity, out);
    if (options.format == Format::text && root && !options.root.pid)
        print_note(root->name(), out);
}

} // namespace

/// `gpuctr-setup plan`: print what apply would do, without touching anything.
void add_plan_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    auto options = std::make_shared<Options>();

    CLI::App& command = *app.add_subcommand("plan", "what apply would do, and why");
    options->request.add_to(command);
    options->request.host.add_record_to(command);
    options->root.add_to(command);
    add_format_option(command, options->format);

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) -> int {
            const Messages messages = {streams.err, verbosity};
            with_gpu(options->request.host.if_present, messages,
                     [&] { show(*options, messages, streams.out); });
            return ExitCode::done;
        };
    });
}

} // namespace gpuctr_setup
