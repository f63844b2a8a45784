// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/dry_run.hpp"
#include "commands/run_options.hpp"
#include "commands/runtime_input.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "options/values.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"
#include "runtime/run.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::CdiList;
using gpucontainer::Outcome;
using gpucontainer::Plan;
using gpucontainer::Severity;

const NamedValues<std::uint32_t>& hooks_names()
{
    static const NamedValues<std::uint32_t> names = {{"none", 0},
                                                     {"unknown", GPUCTR_REQUEST_KEEP_UNKNOWN_HOOKS},
                                                     {"all", GPUCTR_REQUEST_KEEP_ALL_HOOKS}};
    return names;
}

struct CdiApplyArguments {
    RequestOptions request;
    RootOptions root;
    RunOptions run;
    std::vector<std::string> directories; ///< Of specifications.
    std::vector<std::string> files;
    std::string state;
    std::uint32_t kept_hooks = 0;
    bool oci = false;
    bool no_replace = false;
    bool dry_run = false;
};

gpucontainer::Error cdi_usage(const std::string& problem)
{
    return usage_error_of("cdi-apply", problem);
}

CdiList read_specifications(const CdiApplyArguments& options)
{
    std::vector<std::string> paths = options.directories;
    if (!options.files.empty() && paths.empty())
        return CdiList(options.files);
    if (options.files.empty())
        return CdiList(paths);
    paths.insert(paths.end(), options.files.begin(), options.files.end());
    return CdiList(paths);
}

gpucontainer::Request request_of(const CdiApplyArguments& options)
{
    gpucontainer::Request request = options.request.request();
    request.kept_hooks = options.kept_hooks;
    return request;
}

/// What is to be done besides the set-up.
void tell_rest(const Plan& plan, const Messages& messages, std::FILE* out)
{
    for (const auto variable : plan.variables())
        print(out, "{}={}\n", printable(variable.name()), printable(variable.value()));
    if (messages.verbosity != Verbosity::verbose)
        return;
    for (const gpucontainer::Finding finding : plan.findings())
        if (finding.severity() == Severity::need)
            messages.tell(formatted("the container also needs {}", finding.message()));
}

/// A filter of the configuration of a container that is yet to be made.
void edit_configuration(const CdiApplyArguments& options, const Call& call)
{
    shrink_privileges(GPUCTR_PHASE_LOOK);
    const std::string config = read_input(input_config);
    const CdiList list = read_specifications(options);
    const Plan plan(list, request_of(options), -1);
    warn_about(plan.findings(), call.messages());
    print(call.streams.out, "{}", plan.edit_oci(config));
}

gpucontainer::ApplyOptions apply_options(const CdiApplyArguments& options,
                                         const RootDirectory& root)
{
    gpucontainer::ApplyOptions how;
    how.state_dir = state_directory(options.state);
    how.no_replace = options.no_replace;
    how.dry_run = options.dry_run;
    root.set_process(how);
    options.request.set(how);
    return how;
}

void show(const Plan& plan, Outcome outcome, const RootDirectory& root,
          const CdiApplyArguments& options, const Call& call)
{
    Forecast forecast = {plan, outcome, {}};
    if (outcome == Outcome::replaced) {
        gpucontainer::SetupListOptions where;
        where.state_dir = state_directory(options.state);
        root.set_process(where);
        forecast.replaced = older_set_ups(gpucontainer::SetupList(root.fd(), where), root.name());
    }
    print_apply(forecast, root.name(), call, call.json ? Format::json : Format::text);
}

void set_up(const CdiApplyArguments& options, const Call& call)
{
    const Messages messages = call.messages();
    const CdiList list = read_specifications(options);
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY));
    const RootDirectory root = options.root.open();
    const Plan plan(list, request_of(options), root.fd());
    warn_about(plan.findings(), messages);
    gpucontainer::ApplyOptions how = apply_options(options, root);
    how.report = [&](const gpucontainer::Finding& finding) { messages.warn(finding); };
    const Outcome outcome = plan.apply(root.fd(), how);
    if (options.dry_run) {
        show(plan, outcome, root, options, call);
        return;
    }
    const Verbosity least = outcome == Outcome::replaced ? Verbosity::normal : Verbosity::verbose;
    if (messages.verbosity >= least)
        messages.tell(formatted("{}: {}", root.name(),
                                outcome == Outcome::applied     ? "set up"
                                : outcome == Outcome::unchanged ? "set up already"
                                                                : "an older set-up was replaced"));
    tell_rest(plan, messages, call.streams.out);
}

int run_command(const CdiApplyArguments& options, const Call& call)
{
    const auto list = std::make_shared<const CdiList>(read_specifications(options));
    prepare_to_run();
    const auto plan = [list, request = request_of(options)](int rootfs_fd, std::uint32_t write) {
        gpucontainer::Request wanted = request;
        wanted.write = write;
        return Plan(*list, wanted, rootfs_fd);
    };
    std::optional<Gpus> gpus = Gpus{plan, {}, false};
    options.request.set(gpus->how);
    RunOptions how = options.run;
    how.mount_label = options.request.mount_label;
    if (const std::optional<ImageFile> image = options.root.open_image(ImageUse::looked_at))
        throw cdi_usage("an image file has to be mounted first: name a directory");
    const RootDirectory root = options.root.open();
    return run({root.name(), root.fd(), nullptr}, gpus, how, call.command_line, call.messages());
}

/// Devices of CDI, in a root file system, for a command, or in a configuration.
class CdiApply : public Command {
public:
    void add_options(CLI::App& app) override
    {
        options_.request.add_for_devices_of_cdi_to(app);
        add_replacing_to(app);
        app.option_defaults()->group(where);
        app.add_option("--spec-dir", options_.directories,
                       "directory of specifications; repeatable, and later ones have a higher "
                       "priority (default: /etc/cdi and /var/run/cdi)")
            ->type_name("DIR");
        app.add_option("--spec", options_.files,
                       "a specification; without --spec-dir, only these are read; repeatable")
            ->type_name("FILE");
        options_.root.add_to(app);
        add_state_option(app, options_.state);
        app.option_defaults()->group(where);
        app.add_flag("--oci", options_.oci,
                     "read config.json of a container from standard input, and print it with the "
                     "devices");
        add_run_options(app, options_.run);
        add_dry_run_option(app, options_.dry_run);
        add_format_to(app);
        app_ = &app;
    }

    void check_typed(const Call& call) override
    {
        const bool with_command = !call.command_line.empty();
        if (!with_command && options_.run.is_set())
            throw cdi_usage(
                "--chdir, --setenv, --clean-env, --bind and --allow-setuid go with -- CMD");
        if (options_.run.writable || options_.run.unverified)
            throw cdi_usage(
                "--writable-tmpfs and --no-verify are for image files, which cdi apply does "
                "not take");
        if (options_.oci && (with_command || options_.root.is_given()))
            throw cdi_usage("--oci: the configuration names the root file system, and the command");
        if (with_command && (options_.root.pid || options_.dry_run))
            throw cdi_usage(
                "--pid and --dry-run: not with -- CMD, which makes a container of its own");
        check_typed_of_oci();
    }

    void check_complete() const override
    {
        if (options_.request.devices.empty())
            throw cdi_usage("name a device with --device, such as --device nvidia.com/gpu=0");
        if (!options_.oci && !options_.root.is_given())
            throw cdi_usage("say where: --rootfs DIR, --pid PID, or --oci");
    }

    int run(const Call& call) override
    {
        if (options_.oci)
            edit_configuration(options_, call);
        else if (!call.command_line.empty())
            return run_command(options_, call);
        else
            set_up(options_, call);
        return ExitCode::done;
    }

private:
    void add_replacing_to(CLI::App& app)
    {
        app.option_defaults()->group(how);
        app.add_flag("--no-replace", options_.no_replace,
                     "fail if there is an older set-up that may be in use");
        add_choice(app, "--keep-hooks", hooks_names(), options_.kept_hooks,
                   "with --oci: hooks that stay in the configuration, for the runtime to run");
    }

    /// An option that has no effect is a mistake.
    void check_typed_of_oci() const
    {
        if (!options_.oci) {
            if (app_->count("--keep-hooks") != 0)
                throw cdi_usage("--keep-hooks goes with --oci: no program of others is run");
            return;
        }
        for (const char* const option :
             {"--cuda-compat", "--write", "--lock", "--backend", "--mount-label", "--no-replace",
              "--state-dir", "--dry-run", "--format", "--json"})
            if (app_->count(option) != 0)
                throw cdi_usage(formatted("{}: nothing is set up with --oci", option));
    }

    CdiApplyArguments options_;
    const CLI::App* app_ = nullptr;
};

} // namespace

const CommandEntry cdi_apply_command = {
    "cdi-apply",
    "give a container devices of any specification",
    "--device NAME --rootfs DIR [OPTION]... [-- CMD...]\n"
    "--device NAME --oci [OPTION]...",
    R"(
Give a container devices of the Container Device Interface (CDI), whoever wrote
their specifications: this program, nvidia-ctk, or others. Directories and
conflicts count as `cdi list` shows them.

In a root file system, mounts and names are made as `gpuctr-setup --rootfs`
makes them, and `gpuctr-setup undo` takes them away. Hooks of nvidia-ctk are
known, and what they are for is done without running them. A specification with
another hook is refused. Variables for the container's processes are printed;
with -- CMD, CMD gets them.

With --oci, read the configuration of a container from standard input, and
print it with the devices. It needs no privileges.

Examples:
  gpuctr-setup cdi apply --device nvidia.com/gpu=0 --rootfs /srv/image
      the first GPU, by the specification that engines use
  gpuctr-setup cdi apply --device amd.com/gpu=0 --rootfs /srv/image -- rocminfo
      run a program with an AMD GPU
  gpuctr-setup cdi apply --device intel.com/gpu=0 --oci
      a filter of config.json, for a container that a runtime is going to start
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<CdiApply>(); },
    true};

} // namespace gpuctr_cli
