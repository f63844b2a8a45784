// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "formats/given.hpp"
#include "options/groups.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/findings.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <array>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::CdiList;
using gpucontainer::Severity;

bool is_wrong(const CdiList& list, Severity least)
{
    const auto findings = list.findings();
    return std::any_of(findings.begin(), findings.end(),
                       [&](const auto& finding) { return finding.severity() >= least; });
}

/// One line each, as compilers do: FILE:LINE: what is wrong. Those of `least` severity.
void print_findings(const CdiList& list, const Streams& streams, Severity least)
{
    for (const gpucontainer::Finding finding : list.findings()) {
        if (finding.severity() < least)
            continue;
        const std::string severity = formatted("{}:", name(finding.severity()));
        print(streams.out, "{} {}\n",
              finding.severity() == Severity::error     ? streams.of_out.error(severity)
              : finding.severity() == Severity::warning ? streams.of_out.warning(severity)
                                                        : severity,
              printable(finding.message()));
    }
}

void print_devices(const CdiList& list, const Streams& streams)
{
    Table table({"DEVICE", "STATE", "FILE"});
    for (const auto device : list.devices())
        table.add(
            {printable(device.name()), std::string(device.state()), printable(device.path())});
    if (!table.empty())
        table.print(streams.out, streams.of_out);
}

/// The drivers of this host, if they can be told.
std::optional<gpucontainer::Host> open_host()
{
    try {
        gpucontainer::HostOptions options;
        options.catalogue_dir = "/etc/gpucontainer/catalogue.d";
        return gpucontainer::Host(options);
    } catch (const gpucontainer::Error&) {
        return std::nullopt; // what can be said of files is said all the same
    }
}

void add_fail_on(CLI::App& app, Severity& fail_on)
{
    app.option_defaults()->group(what_is_printed);
    add_choice<Severity>(app, "--fail-on",
                         {{"warning", Severity::warning}, {"error", Severity::error}}, fail_on,
                         "exit with 9 for findings of this severity or a higher one");
}

/// The devices of all specifications.
class CdiLists : public Command {
public:
    void add_options(CLI::App& app) override
    {
        app.option_defaults()->group(where);
        app.add_option("--spec-dir", directories_,
                       "directory of specifications; repeatable, and later ones have a higher "
                       "priority (default: /etc/cdi and /var/run/cdi)")
            ->type_name("DIR");
        app.add_option("--files-dir", files_directory_,
                       "where `cdi generate --install` keeps what it knows")
            ->type_name("DIR")
            ->capture_default_str();
        add_fail_on(app, fail_on_);
        add_format_to(app);
    }

    int run(const Call& call) override
    {
        shrink_privileges(GPUCTR_PHASE_LOOK);
        const auto host = open_host();
        const CdiList list(directories_, host ? &*host : nullptr, files_directory_);
        if (format() == Format::json) {
            print(call.streams.out, "{}", list.to_json());
        } else {
            print_devices(list, call.streams);
            const Severity least =
                call.verbosity == Verbosity::verbose ? Severity::note : Severity::warning;
            if (!list.devices().empty() && is_wrong(list, least))
                print(call.streams.out, "\n");
            print_findings(list, call.streams, least);
            if (list.devices().empty() && call.verbosity != Verbosity::quiet)
                call.messages().tell("no device in any specification");
        }
        return is_wrong(list, fail_on_) ? ExitCode::something_wrong : ExitCode::done;
    }

private:
    std::vector<std::string> directories_;
    std::string files_directory_ = usual_files_directory;
    Severity fail_on_ = Severity::error;
};

/// Whether specifications are as engines take them.
class CdiValidate : public Command {
public:
    void add_options(CLI::App& app) override
    {
        app.add_option("files", files_)->expected(-1)->group("");
        add_fail_on(app, fail_on_);
        add_format_to(app);
    }

    void check_complete() const override
    {
        if (files_.empty())
            throw usage_error_of("cdi-validate", "name a file, or a directory of specifications");
    }

    int run(const Call& call) override
    {
        shrink_privileges(GPUCTR_PHASE_LOOK);
        const CdiList list(files_);
        if (format() == Format::json)
            print(call.streams.out, "{}", list.to_json());
        else
            print_findings(list, call.streams,
                           call.verbosity == Verbosity::quiet ? Severity::warning : Severity::note);
        return is_wrong(list, fail_on_) ? ExitCode::something_wrong : ExitCode::done;
    }

private:
    std::vector<std::string> files_;
    Severity fail_on_ = Severity::error;
};

} // namespace

const CommandEntry cdi_list_command = {
    "cdi-list", "list the devices of all specifications", "[OPTION]...",
    R"(
List the devices that container engines can give to containers, and what is
wrong with their specifications: mistakes, devices that two files have, and what
is not true of this host any more. The exit status is 9 for mistakes and
conflicts, and with --fail-on warning also for what is outdated.

Examples:
  gpuctr-setup cdi list
      of /etc/cdi and /var/run/cdi
  gpuctr-setup cdi list --fail-on warning -q
      whether all is well, for a script
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<CdiLists>(); }};

const CommandEntry cdi_validate_command = {
    "cdi-validate", "check specifications by the rules of CDI", "FILE... [OPTION]...",
    R"(
Check specifications by the rules that engines go by, whoever wrote them. Each
mistake is a line FILE:LINE: WHAT. The exit status is 9 if there is one. A note
says for which images a specification cannot work; -q leaves notes out.

Examples:
  gpuctr-setup cdi validate /etc/cdi/nvidia.yaml
      a file
  gpuctr-setup cdi validate /etc/cdi --json
      all files of a directory, for programs
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<CdiValidate>(); }};

} // namespace gpuctr_cli
