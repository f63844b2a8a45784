// SPDX-License-Identifier: MIT
#include "command.hpp"
#include "output.hpp"
#include "privileges.hpp"
#include "root_options.hpp"
#include "table.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Applied;
using gpucontainer::State;

enum class FailOn : int { warning, error };

const std::map<std::string, FailOn>& severity_names()
{
    static const std::map<std::string, FailOn> names = {{"warning", FailOn::warning},
                                                        {"error", FailOn::error}};
    return names;
}

struct Options {
    RootOptions root;
    bool all = false;
    std::string state;
    Format format = Format::text;
    FailOn fail_on = FailOn::error;
};

std::string gpus_of(const gpucontainer::UsedDriver& driver)
{
    std::string text;
    for (const auto gpu : driver.gpus()) {
        const std::string_view id = gpu.uuid().empty() ? gpu.pci_address() : gpu.uuid();
        text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", gpu.index(),
                            id.empty() ? "" : " ", printable(id));
    }
    return text.empty() ? "none" : text;
}

std::string_view seen_in(const Applied& applied)
{
    if (applied.origin() == "here")
        return "this mount namespace";
    if (applied.origin() == "another_mount")
        return "this mount namespace, on another mount";
    if (applied.origin() == "another_namespace")
        return "another mount namespace";
    return "no mount namespace any more";
}

std::string time_of(const Applied& applied)
{
    const std::time_t since = applied.since();
    std::tm parts = {};
    return ::gmtime_r(&since, &parts) != nullptr ? fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", parts)
                                                 : "unknown";
}

void print_applied(const Applied& applied, const std::string& root, std::FILE* out)
{
    print(out, "{}\n", printable(root));
    for (const auto driver : applied.drivers()) {
        print(out, "  driver   {} {}\n", printable(driver.vendor()), printable(driver.version()));
        print(out, "  GPUs     {}\n", gpus_of(driver));
    }
    print(out, "  tree     {}\n",
          applied.tree_path().empty() ? "none" : printable(applied.tree_path()));
    print(out, "  since    {}\n", time_of(applied));
    print(out, "  seen in  {}\n", seen_in(applied));
    print(out, "  root     {}\n", applied.writes_root() ? "written" : "not written");
    if (applied.problems().empty())
        print(out, "  state    intact\n");
    for (const auto problem : applied.problems())
        print(out, "  {:<8} {}\n", problem.is_error() ? "error" : "warning",
              printable(problem.text()));
}

void print_state(const State& state, const std::string& unnamed, std::FILE* out)
{
    bool first = true;
    for (const Applied applied : state) {
        if (!first)
            print(out, "\n");
        first = false;
        print_applied(applied, applied.root().empty() ? unnamed : std::string(applied.root()), out);
    }
}

bool is_wrong(const State& state, FailOn least)
{
    return std::any_of(state.begin(), state.end(), [&](const Applied& applied) {
        const auto problems = applied.problems();
        return std::any_of(problems.begin(), problems.end(), [&](const auto& problem) {
            return least == FailOn::warning || problem.is_error();
        });
    });
}

int show(const Options& options, Verbosity verbosity, const Streams& streams)
{
    std::optional<RootDirectory> root;
    if (!options.all)
        root.emplace(options.root.open());
    gpucontainer::ApplyOptions where;
    where.state_dir = state_directory(options.state);
    if (root)
        where = root->apply_options(where.state_dir);
    const State state(root ? root->fd() : -1, where);
    if (options.format == Format::json)
        print(streams.out, "{}", state.to_json());
    else
        print_state(state, root ? root->name() : "a container", streams.out);
    if (state.empty() && options.format == Format::text && verbosity != Verbosity::quiet)
        say(streams.err, "gpuctr-setup: nothing is set up{}\n",
            root ? " in " + printable(root->name()) : "");
    return is_wrong(state, options.fail_on) ? ExitCode::something_wrong : ExitCode::done;
}

} // namespace

/// `gpuctr-setup status`: what is set up, and whether it still fits the host.
void add_status_command(CLI::App& app, Command& chosen, const Verbosity& verbosity)
{
    auto options = std::make_shared<Options>();
    CLI::App& command = *app.add_subcommand("status", "what is set up, and whether it still fits");
    options->root.add_to(command);
    CLI::Option* const all = command.add_flag("--all", options->all, "in every root file system");
    for (const char* const one : {"--rootfs", "--rootfs-fd", "--pid"})
        all->excludes(command.get_option(one));
    add_state_option(command, options->state);
    command.add_option("--format", options->format)
        ->transform(CLI::CheckedTransformer(format_names()))
        ->type_name("text|json");
    command.add_option("--fail-on", options->fail_on, "from what on the exit status is 9")
        ->transform(CLI::CheckedTransformer(severity_names()))
        ->type_name("warning|error");

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) {
            shrink_privileges(options->root.phases(GPUCTR_PHASE_STATE));
            return show(*options, verbosity, streams);
        };
    });
}

} // namespace gpuctr_setup
