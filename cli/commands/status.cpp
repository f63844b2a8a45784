// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/root_options.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>

namespace gpuctr_setup {
namespace {

using gpucontainer::Applied;
using gpucontainer::State;

enum class FailOn : int { warning, error };

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
        text += formatted("{}{}{}{}", text.empty() ? "" : ", ", gpu.index(), id.empty() ? "" : " ",
                          printable(id));
    }
    return text.empty() ? "none" : text;
}

/// "process 1234 (sleep)"; "" where none is known.
std::string process_of(const Applied& applied)
{
    if (applied.process() == 0)
        return "";
    std::ifstream file(formatted("/proc/{}/comm", applied.process()));
    std::string name;
    std::getline(file, name);
    return formatted("process {}{}", applied.process(),
                     name.empty() ? "" : formatted(" ({})", name));
}

/// `here` is the mount namespace that was looked at: a process may be in another one.
std::string seen_in(const Applied& applied, const std::string& here)
{
    if (applied.origin() == "here")
        return here;
    if (applied.origin() == "another_mount")
        return here + ", on another mount";
    if (applied.origin() == "another_namespace") {
        const std::string process = process_of(applied);
        return process.empty() ? formatted("mount namespace {}", applied.mount_namespace())
                               : "the mount namespace of " + process;
    }
    return "no mount namespace any more";
}

std::string time_of(const Applied& applied)
{
    const std::time_t since = applied.since();
    std::tm parts = {};
    std::array<char, 64> text = {};
    const bool is_known =
        ::gmtime_r(&since, &parts) != nullptr
        && std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) > 0;
    return is_known ? text.data() : "unknown";
}

void print_applied(const Applied& applied, const std::string& root, const std::string& here,
                   std::FILE* out)
{
    print(out, "{}\n", printable(root));
    for (const auto driver : applied.drivers()) {
        print(out, "  driver   {} {}\n", printable(driver.vendor()), printable(driver.version()));
        print(out, "  GPUs     {}\n", gpus_of(driver));
    }
    print(out, "  tree     {}\n",
          applied.tree_path().empty() ? "none" : printable(applied.tree_path()));
    print(out, "  since    {}\n", time_of(applied));
    print(out, "  seen in  {}\n", printable(seen_in(applied, here)));
    print(out, "  root     {}\n", applied.writes_root() ? "written" : "not written");
    if (applied.problems().empty())
        print(out, "  state    intact\n");
    for (const auto problem : applied.problems())
        print(out, "  {:<8} {}\n", problem.is_error() ? "error" : "warning",
              printable(problem.text()));
}

/// Of the root of a process there is no path. `unnamed` is what it was called by the caller, or
/// "".
std::string name_of(const Applied& applied, const std::string& unnamed)
{
    if (!applied.root().empty() || !unnamed.empty())
        return applied.root().empty() ? unnamed : std::string(applied.root());
    const std::string process = process_of(applied);
    return process.empty()
               ? formatted("a container of mount namespace {}", applied.mount_namespace())
               : "the container of " + process;
}

void print_state(const State& state, const std::string& unnamed, const std::string& here,
                 std::FILE* out)
{
    bool first = true;
    for (const Applied applied : state) {
        if (!first)
            print(out, "\n");
        first = false;
        print_applied(applied, name_of(applied, unnamed), here, out);
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
        print_state(state, root ? root->name() : "",
                    options.root.pid ? "the mount namespace of " + root->name()
                                     : "this mount namespace",
                    streams.out);
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
    add_format_option(command, options->format);
    add_choice<FailOn>(command, "--fail-on",
                       {{"warning", FailOn::warning}, {"error", FailOn::error}}, options->fail_on,
                       "from what on the exit status is 9");

    command.callback([options, &chosen, &verbosity] {
        chosen = [options, &verbosity](const Streams& streams) {
            options->root.require_or_all(options->all, "status");
            shrink_privileges(options->root.phases(GPUCTR_PHASE_STATE));
            return show(*options, verbosity, streams);
        };
    });
}

} // namespace gpuctr_setup
