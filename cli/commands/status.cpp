// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/root_options.hpp"
#include "options/values.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_setup {
namespace {

using gpucontainer::Applied;
using gpucontainer::State;

enum class FailOn : int { warning, error };

struct Options {
    RootOptions root;
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

int show(const Options& options, const Call& call)
{
    std::optional<RootDirectory> root;
    if (!options.root.all)
        root.emplace(options.root.open());
    gpucontainer::ApplyOptions where;
    where.state_dir = state_directory(options.state);
    if (root)
        where = root->apply_options(where.state_dir);
    const State state(root ? root->fd() : -1, where);
    if (options.format == Format::json)
        print(call.streams.out, "{}", state.to_json());
    else
        print_state(state, root ? root->name() : "",
                    options.root.pid ? "the mount namespace of " + root->name()
                                     : "this mount namespace",
                    call.streams.out);
    if (state.empty() && options.format == Format::text && call.verbosity != Verbosity::quiet)
        say(call.streams.err, "gpuctr-setup: nothing is set up{}\n",
            root ? " in " + printable(root->name()) : "");
    return is_wrong(state, options.fail_on) ? ExitCode::something_wrong : ExitCode::done;
}

/// What is set up, and whether it still fits the host.
class Status : public Command {
public:
    void add_options(CLI::App& app) override
    {
        options_.root.add_to(app);
        options_.root.add_all_to(app);
        add_state_option(app, options_.state);
        add_format_option(app, options_.format);
        add_choice<FailOn>(app, "--fail-on",
                           {{"warning", FailOn::warning}, {"error", FailOn::error}},
                           options_.fail_on, "the least problem that makes the exit status 9");
    }

    void check_complete() const override { options_.root.require_or_all("status"); }

    int run(const Call& call) override
    {
        shrink_privileges(options_.root.phases(GPUCTR_PHASE_STATE));
        return show(options_, call);
    }

private:
    Options options_;
};

} // namespace

const CommandEntry status_command = {
    "status", "show what is set up, and whether it still fits the host",
    "--rootfs DIR [OPTION]...\n"
    "--all [OPTION]...",
    R"(
Show what is set up, and what is wrong with it: whether each mount and name is
as it was left, and whether the driver still is the loaded one. The exit status
is 9 if something is wrong.

Examples:
  gpuctr-setup status --rootfs /srv/image
      the set-up of /srv/image
  gpuctr-setup status --all --format json
      every set-up of this host, for programs
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Status>(); }};

} // namespace gpuctr_setup
