// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/root_options.hpp"
#include "options/values.hpp"
#include "output/findings.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {
namespace {

using gpucontainer::Setup;
using gpucontainer::SetupList;
using gpucontainer::Severity;

struct Options {
    RootOptions root;
    std::string state;
    Format format = Format::text;
    Severity fail_on = Severity::error; ///< The lowest that makes the exit status 9.
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

/// "process 1234 (sleep)"; "" if none is known.
std::string process_of(const Setup& setup)
{
    if (setup.process() == 0)
        return "";
    std::ifstream file(formatted("/proc/{}/comm", setup.process()));
    std::string name;
    std::getline(file, name);
    return formatted("process {}{}", setup.process(), name.empty() ? "" : formatted(" ({})", name));
}

/// `here` names the mount namespace that was looked at.
std::string seen_in(const Setup& setup, const std::string& here)
{
    if (setup.origin() == "here")
        return here;
    if (setup.origin() == "another_mount")
        return here + ", on another mount";
    if (setup.origin() == "another_namespace") {
        const std::string process = process_of(setup);
        return process.empty() ? formatted("mount namespace {}", setup.mount_namespace())
                               : "the mount namespace of " + process;
    }
    return "no mount namespace any more";
}

std::string time_of(const Setup& setup)
{
    const std::time_t since = setup.since();
    std::tm parts = {};
    std::array<char, 64> text = {};
    const bool is_known =
        ::gmtime_r(&since, &parts) != nullptr
        && std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) > 0;
    return is_known ? text.data() : "unknown";
}

void print_setup(const Setup& setup, const std::string& root, const std::string& here,
                 std::FILE* out)
{
    print(out, "{}\n", printable(root));
    for (const auto driver : setup.drivers()) {
        print(out, "  driver   {} {}\n", printable(driver.vendor()), printable(driver.version()));
        print(out, "  GPUs     {}\n", gpus_of(driver));
    }
    print(out, "  tree     {}\n",
          setup.tree_path().empty() ? "none" : printable(setup.tree_path()));
    print(out, "  since    {}\n", time_of(setup));
    print(out, "  seen in  {}\n", printable(seen_in(setup, here)));
    print(out, "  root     {}\n", setup.writes_root() ? "written" : "not written");
    if (setup.findings().empty())
        print(out, "  state    intact\n");
    for (const gpucontainer::Finding finding : setup.findings()) {
        print(out, "  {:<8} {}\n", name(finding.severity()), printable(finding.message()));
        if (!finding.hint().empty())
            print(out, "  hint     {}\n", printable(finding.hint()));
    }
}

/// The root's path. The root of a process has none: then `unnamed`, or if that is "" its process
/// or mount namespace.
std::string name_of(const Setup& setup, const std::string& unnamed)
{
    if (!setup.root().empty() || !unnamed.empty())
        return setup.root().empty() ? unnamed : std::string(setup.root());
    const std::string process = process_of(setup);
    return process.empty() ? formatted("a container of mount namespace {}", setup.mount_namespace())
                           : "the container of " + process;
}

void print_list(const SetupList& list, const std::string& unnamed, const std::string& here,
                std::FILE* out)
{
    bool first = true;
    for (const Setup setup : list) {
        if (!first)
            print(out, "\n");
        first = false;
        print_setup(setup, name_of(setup, unnamed), here, out);
    }
}

bool is_wrong(const SetupList& list, Severity least)
{
    return std::any_of(list.begin(), list.end(), [&](const Setup& setup) {
        const auto findings = setup.findings();
        return std::any_of(findings.begin(), findings.end(),
                           [&](const auto& finding) { return finding.severity() >= least; });
    });
}

int show(const Options& options, const Call& call)
{
    std::optional<RootDirectory> root;
    if (!options.root.all)
        root.emplace(options.root.open());
    gpucontainer::SetupListOptions where;
    where.state_dir = state_directory(options.state);
    if (root)
        root->set_process(where);
    const SetupList list(root ? root->fd() : -1, where);
    if (options.format == Format::json)
        print(call.streams.out, "{}", list.to_json());
    else
        print_list(list, root ? root->name() : "",
                   options.root.pid ? "the mount namespace of " + root->name()
                                    : "this mount namespace",
                   call.streams.out);
    if (list.empty() && options.format == Format::text && call.verbosity != Verbosity::quiet)
        say(call.streams.err, "gpuctr-setup: nothing is set up{}\n",
            root ? " in " + printable(root->name()) : "");
    return is_wrong(list, options.fail_on) ? ExitCode::something_wrong : ExitCode::done;
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
        add_choice<Severity>(
            app, "--fail-on", {{"warning", Severity::warning}, {"error", Severity::error}},
            options_.fail_on, "exit with 9 for findings of this severity or a higher one");
    }

    void check_complete() const override { options_.root.require_or_all("status"); }

    int run(const Call& call) override
    {
        shrink_privileges(options_.root.phases(GPUCTR_PHASE_STATUS));
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
Show what is set up, and what is wrong with it: mounts and names that are not
as they were left, or a driver that is no longer the loaded one. The exit status
is 9 if something is wrong.

Examples:
  gpuctr-setup status --rootfs /srv/image
      the set-up of /srv/image
  gpuctr-setup status --all --format json
      every set-up of this host, for programs
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Status>(); }};

} // namespace gpuctr_cli
