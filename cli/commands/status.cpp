// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/columns.hpp"
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
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Setup;
using gpucontainer::SetupList;
using gpucontainer::Severity;

struct StatusArguments {
    RootOptions root;
    std::string state;
    ColumnOptions columns;
    Severity fail_on = Severity::error; ///< The lowest that makes the exit status 9.
};

/// Of devices that specifications give, such as "nvidia.com/gpu". No driver is known then.
bool is_kind_of_cdi(const gpucontainer::UsedDriver& driver)
{
    return driver.vendor().find('/') != std::string_view::npos;
}

std::string devices_of(const gpucontainer::UsedDriver& kind)
{
    std::string text;
    for (const auto device : kind.gpus())
        text += formatted("{}{}={}", text.empty() ? "" : ", ", printable(kind.vendor()),
                          printable(device.uuid()));
    return text;
}

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

std::string time_of(const Setup& setup, const char* form)
{
    const std::time_t since = setup.since();
    std::tm parts = {};
    std::array<char, 64> text = {};
    const bool is_known = ::gmtime_r(&since, &parts) != nullptr
                          && std::strftime(text.data(), text.size(), form, &parts) > 0;
    return is_known ? text.data() : "unknown";
}

/// A word of a severity, coloured.
std::string colored(Severity severity, const std::string& text, const Paint& paint)
{
    return severity == Severity::error     ? paint.error(text)
           : severity == Severity::warning ? paint.warning(text)
                                           : text;
}

void print_setup(const Setup& setup, const std::string& root, const std::string& here,
                 const Streams& streams)
{
    std::FILE* const out = streams.out;
    print(out, "{}\n", streams.of_out.heading(printable(root)));
    for (const auto driver : setup.drivers()) {
        if (is_kind_of_cdi(driver)) {
            print(out, "  devices  {}\n", devices_of(driver));
            continue;
        }
        print(out, "  driver   {} {}\n", printable(driver.vendor()), printable(driver.version()));
        print(out, "  GPUs     {}\n", gpus_of(driver));
    }
    print(out, "  tree     {}\n",
          setup.tree_path().empty() ? "none" : printable(setup.tree_path()));
    print(out, "  since    {}\n", time_of(setup, "%Y-%m-%d %H:%M:%S UTC"));
    print(out, "  seen in  {}\n", printable(seen_in(setup, here)));
    print(out, "  root     {}\n", setup.writes_root() ? "written" : "not written");
    if (setup.findings().empty())
        print(out, "  state    intact\n");
    for (const gpucontainer::Finding finding : setup.findings()) {
        const std::string severity = formatted("{:<8}", name(finding.severity()));
        print(out, "  {} {}\n", colored(finding.severity(), severity, streams.of_out),
              printable(finding.message()));
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
                const Streams& streams)
{
    bool first = true;
    for (const Setup setup : list) {
        if (!first)
            print(streams.out, "\n");
        first = false;
        print_setup(setup, name_of(setup, unnamed), here, streams);
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

/// A row of the table that --output chooses columns of.
struct SetupRow {
    Setup setup;
    std::string root; ///< Its path, or a name for it.
};

/// What `text` returns for each driver, separated by commas.
template <typename Text>
std::string of_drivers(const SetupRow& row, Text text)
{
    std::string all;
    for (const auto driver : row.setup.drivers())
        for (const std::string& part : text(driver))
            all += (all.empty() ? "" : ",") + part;
    return all;
}

using Parts = std::vector<std::string>;

std::string drivers_in(const SetupRow& row)
{
    return of_drivers(row, [](const auto& driver) {
        return Parts{is_kind_of_cdi(driver)
                         ? std::string(driver.vendor())
                         : formatted("{}/{}", driver.vendor(), driver.version())};
    });
}

std::string gpus_in(const SetupRow& row)
{
    return of_drivers(row, [](const auto& driver) {
        Parts gpus;
        for (const auto gpu : driver.gpus())
            gpus.push_back(formatted("{}/{}", driver.vendor(), gpu.index()));
        return gpus;
    });
}

std::string uuids_in(const SetupRow& row)
{
    return of_drivers(row, [](const auto& driver) {
        Parts uuids;
        for (const auto gpu : driver.gpus())
            if (!gpu.uuid().empty())
                uuids.emplace_back(gpu.uuid());
        return uuids;
    });
}

std::string findings_in(const SetupRow& row)
{
    std::string codes;
    for (const auto finding : row.setup.findings())
        codes += (codes.empty() ? "" : ",") + std::string(finding.code());
    return codes;
}

/// The highest severity of its findings.
std::string state_of(const SetupRow& row)
{
    const auto findings = row.setup.findings();
    const auto worst =
        std::max_element(findings.begin(), findings.end(), [](const auto& left, const auto& right) {
            return left.severity() < right.severity();
        });
    return findings.empty() ? "intact" : std::string(name((*worst).severity()));
}

constexpr std::array columns_of_set_ups = {
    Column<SetupRow>{"ROOT", true, [](const SetupRow& r) { return r.root; }},
    Column<SetupRow>{"DRIVER", true, drivers_in},
    Column<SetupRow>{"GPUS", true, gpus_in},
    Column<SetupRow>{"UUIDS", false, uuids_in},
    Column<SetupRow>{"TREE", false,
                     [](const SetupRow& r) { return std::string(r.setup.tree_path()); }},
    Column<SetupRow>{"SINCE", true,
                     [](const SetupRow& r) { return time_of(r.setup, "%Y-%m-%dT%H:%M:%SZ"); }},
    Column<SetupRow>{"ORIGIN", false,
                     [](const SetupRow& r) { return std::string(r.setup.origin()); }},
    Column<SetupRow>{"NAMESPACE", false,
                     [](const SetupRow& r) { return std::to_string(r.setup.mount_namespace()); }},
    Column<SetupRow>{"PID", false,
                     [](const SetupRow& r) {
                         return r.setup.process() == 0 ? "" : std::to_string(r.setup.process());
                     }},
    Column<SetupRow>{
        "WRITTEN", false,
        [](const SetupRow& r) { return std::string(r.setup.writes_root() ? "yes" : "no"); }},
    Column<SetupRow>{"STATE", true, state_of},
    Column<SetupRow>{"FINDINGS", false, findings_in},
};

void print_table(const SetupList& list, const std::string& unnamed, const ColumnOptions& options,
                 const Streams& streams)
{
    std::vector<SetupRow> rows;
    for (const Setup setup : list)
        rows.push_back({setup, name_of(setup, unnamed)});
    print_columns<SetupRow>(rows, columns_of_set_ups, options, streams.out, streams.of_out);
}

int show(const StatusArguments& options, Format format, const Call& call)
{
    std::optional<RootDirectory> root;
    if (!options.root.all)
        root.emplace(options.root.open());
    gpucontainer::SetupListOptions where;
    where.state_dir = state_directory(options.state);
    if (root)
        root->set_process(where);
    const SetupList list(root ? root->fd() : -1, where);
    const std::string unnamed = root ? root->name() : "";
    if (options.columns.is_given)
        print_table(list, unnamed, options.columns, call.streams);
    else if (format == Format::json)
        print(call.streams.out, "{}", list.to_json());
    else
        print_list(list, unnamed,
                   options.root.pid ? "the mount namespace of " + root->name()
                                    : "this mount namespace",
                   call.streams);
    if (list.empty() && format == Format::text && call.verbosity != Verbosity::quiet)
        call.messages().tell("nothing is set up" + (root ? " in " + root->name() : ""));
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
        add_format_to(app);
        add_columns<SetupRow>(app, columns_of_set_ups, options_.columns);
        add_choice<Severity>(
            app, "--fail-on", {{"warning", Severity::warning}, {"error", Severity::error}},
            options_.fail_on, "exit with 9 for findings of this severity or a higher one");
    }

    void check_complete() const override { options_.root.require_or_all("status"); }

    int run(const Call& call) override
    {
        shrink_privileges(options_.root.phases(GPUCTR_PHASE_STATUS));
        return show(options_, format(), call);
    }

private:
    StatusArguments options_;
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
  gpuctr-setup status --all -o ROOT,STATE
      two columns of a table of every set-up of this host
  gpuctr-setup status --all --json
      every set-up of this host, for programs
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Status>(); }};

} // namespace gpuctr_cli
