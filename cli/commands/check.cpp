// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/findings.hpp"
#include "output/output.hpp"
#include "output/progress.hpp"
#include "process/privileges.hpp"
#include "runtime/container_process.hpp"
#include "settings/origins.hpp"

#include <algorithm>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Check;
using gpucontainer::Severity;

struct CheckArguments {
    RequestOptions request;
    RootOptions root;
    std::string binary;                 ///< The program that will run; "": none is named.
    bool node = false;                  ///< The host alone.
    std::vector<std::string> hosts;     ///< Records, in place of this host.
    Severity fail_on = Severity::error; ///< The lowest that makes the exit status 9.
    Format format = Format::text;
};

std::string heading_of(Severity severity, const Paint& paint)
{
    const std::string text = formatted("{:<8}", name(severity));
    return severity == Severity::error     ? paint.error(text)
           : severity == Severity::warning ? paint.warning(text)
                                           : text;
}

/// Where it was seen. The library names what was asked for by its own arguments: they become the
/// options of this command, or the place of a site's setting.
std::string place_of(const gpucontainer::Finding& finding, const CLI::App& app, const Call& call)
{
    std::string evidence(finding.evidence());
    constexpr const char* letters = "abcdefghijklmnopqrstuvwxyz_";
    if (evidence == finding.object() || evidence.find_first_not_of(letters) != std::string::npos)
        return evidence;
    const std::string option = Origins::option_of(evidence);
    if (app.get_option_no_throw("--" + option) == nullptr)
        return evidence;
    const std::string set_at = call.origins.place_of(option);
    return set_at.empty() ? "--" + option : set_at;
}

void print_finding(const gpucontainer::Finding& finding, const std::string& place,
                   const Streams& streams)
{
    const auto line = [&](const char* title, std::string_view text) {
        if (!text.empty())
            print(streams.out, "{:<8} {}: {}\n", "", title, printable(text));
    };
    print(streams.out, "{} {}\n", heading_of(finding.severity(), streams.of_out),
          printable(finding.message()));
    line("seen in", place);
    line("to do", finding.hint());
}

std::size_t count_of(const Check& check, Severity severity)
{
    std::size_t count = 0;
    for (const gpucontainer::Finding finding : check.findings())
        count += finding.severity() == severity ? 1 : 0;
    return count;
}

std::string counted(std::size_t count, const char* one)
{
    return formatted("{} {}{}", count, one, count == 1 ? "" : "s");
}

void print_check(const Check& check, const CLI::App& app, const Call& call)
{
    const bool all = call.verbosity == Verbosity::verbose;
    bool first = true;
    for (const gpucontainer::Finding finding : check.findings()) {
        if (finding.severity() < Severity::warning && !all)
            continue;
        print(call.streams.out, "{}", first ? "" : "\n");
        print_finding(finding, place_of(finding, app, call), call.streams);
        first = false;
    }
    const std::size_t errors = count_of(check, Severity::error);
    const std::size_t warnings = count_of(check, Severity::warning);
    if (call.verbosity == Verbosity::quiet)
        return;
    print(call.streams.out, "{}", first ? "" : "\n");
    if (errors + warnings == 0)
        print(call.streams.out, "nothing is wrong\n");
    else
        print(call.streams.out, "{}, {}\n", counted(errors, "error"), counted(warnings, "warning"));
}

/// What its process was started with.
void add_variables_of(int pid, const RootDirectory& root, gpucontainer::Request& request,
                      const Messages& messages)
{
    const std::vector<std::string> variables = environment_of(pid, root.process());
    if (variables.empty())
        messages.warn(formatted("process {}: its environment is not known", pid));
    auto& all = request.container_environment;
    all.insert(all.begin(), variables.begin(), variables.end());
}

gpucontainer::CheckOptions options_of(const CheckArguments& given,
                                      const std::optional<RootDirectory>& root, const Call& call)
{
    gpucontainer::CheckOptions options;
    options.host = given.request.host.options();
    RequestOptions request = given.request;
    if (root && !given.root.pid && request.image_env.empty())
        request.image_env = "auto";
    options.request = request.request(root ? root->fd() : -1, call.messages());
    if (root)
        root->set_process(options);
    if (root && given.root.pid)
        add_variables_of(*given.root.pid, *root, options.request, call.messages());
    options.program = call.command_line.empty() ? given.binary : call.command_line.front();
    return options;
}

/// One host. Returns whether something is wrong.
bool show_host(const gpucontainer::CheckOptions& options, int rootfs_fd,
               const CheckArguments& given, const CLI::App& app, const Call& call)
{
    const Check check(options, rootfs_fd);
    if (given.format == Format::json)
        print(call.streams.out, "{}", check.to_json());
    else
        print_check(check, app, call);
    const auto findings = check.findings();
    return std::any_of(findings.begin(), findings.end(),
                       [&](const auto& finding) { return finding.severity() >= given.fail_on; });
}

int show(const CheckArguments& given, const CLI::App& app, const Call& call)
{
    shrink_privileges(given.root.phases(GPUCTR_PHASE_LOOK));
    std::optional<RootDirectory> root;
    if (given.root.is_given())
        root.emplace(given.root.open_to_read());
    const int rootfs_fd = root ? root->fd() : -1;
    const Progress progress(call.streams, call.verbosity,
                            "still looking at " + (root ? printable(root->name()) : "this host"));
    gpucontainer::CheckOptions options = options_of(given, root, call);
    if (given.hosts.empty())
        return show_host(options, rootfs_fd, given, app, call) ? something_wrong : done;
    bool is_wrong = false;
    for (const std::string& path : given.hosts) {
        HostOptions of_record = given.request.host;
        of_record.record = path;
        const gpucontainer::Host record = of_record.open(true);
        options.record = &record;
        if (given.hosts.size() > 1)
            print(call.streams.out, "{}{}\n", &path == given.hosts.data() ? "" : "\n",
                  call.streams.of_out.heading(printable(path)));
        if (show_host(options, rootfs_fd, given, app, call))
            is_wrong = true;
    }
    return is_wrong ? something_wrong : done;
}

/// Whether a GPU program will work, and why not.
class CheckCommand : public Command {
public:
    void add_options(CLI::App& app) override
    {
        app_ = &app;
        options_.request.add_to(app);
        HostOptions::add_records_to(app, options_.hosts);
        options_.root.add_to(app);
        app.option_defaults()->group(where);
        app.add_option("--binary", options_.binary,
                       "the program in the container, if no -- CMD names it")
            ->type_name("PATH");
        app.add_flag("--node", options_.node, "check this host alone, as before a job");
        app.option_defaults()->group(what_is_printed);
        add_format_to(app);
        add_choice<Severity>(
            app, "--fail-on", {{"warning", Severity::warning}, {"error", Severity::error}},
            options_.fail_on, "exit with 9 for findings of this severity or a higher one");
    }

    void check_typed(const Call& call) override
    {
        const bool has_program = !options_.binary.empty() || !call.command_line.empty();
        if (options_.node && (options_.root.is_given() || has_program))
            throw usage_error_of("check", "--node is about the host alone: leave the root "
                                          "directory and the program out");
        if (has_program && !options_.root.is_given())
            throw usage_error_of("check", "a program is looked for in a root file system: name it "
                                          "with --rootfs DIR");
        if (options_.hosts.size() > 1 && format() == Format::json)
            throw usage_error_of("check", "--format json is about one host: call it once for each "
                                          "--host");
        if (!options_.hosts.empty() && options_.root.pid)
            throw usage_error_of("check", "a process of this host has GPUs of this host: leave "
                                          "--host out");
        if (!options_.binary.empty() && !call.command_line.empty())
            throw usage_error_of("check", "--binary and -- CMD both name the program");
    }

    int run(const Call& call) override
    {
        options_.format = format();
        return show(options_, *app_, call);
    }

private:
    CheckArguments options_;
    const CLI::App* app_ = nullptr;
};

} // namespace

const CommandEntry check_command = {
    "check",
    "say whether a GPU program will work, and why not",
    "[VENDOR...] [--rootfs DIR] [OPTION]... [-- CMD...]\n"
    "[VENDOR...] --node [OPTION]...",
    R"(
Say whether a program that uses GPUs will work, and if not, why and what to do.
Nothing is executed or changed, and no GPU is woken. What stops the program
comes first. The exit status is 9 if it will not work.

With --rootfs, this is about a container as `gpuctr-setup apply` would set it
up with the same options. It may be an image file (SIF or squashfs) or an
archive of docker save, which are read without mounting them. With -- CMD, it
is also about whether that program starts there. Without --rootfs it is about
this host alone.

Examples:
  gpuctr-setup check --nv --rootfs /srv/image -- python3 train.py
      will this program find and use the GPUs?
  gpuctr-setup check --gpu --node --fail-on warning
      as the health check of a node, before a job
  gpuctr-setup check --nv --host a.json --host b.json --rootfs /srv/image
      on which of these machines would it work? From their records
  gpuctr-setup check --nv --pid 4711
      the container of process 4711 as it is, whoever set it up
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<CheckCommand>(); },
    false,
    false,
    true};

} // namespace gpuctr_cli
