// SPDX-License-Identifier: MIT
#include "commands/causes.hpp"
#include "commands/command.hpp"
#include "commands/dry_run.hpp"
#include "commands/run_options.hpp"
#include "image/image_file.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"
#include "runtime/run.hpp"
#include "settings/origins.hpp"

#include <algorithm>
#include <functional>
#include <gpucontainer/gpucontainer.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Outcome;

struct ApplyArguments {
    RequestOptions request;
    RunOptions run;
    RootOptions root;
    std::string state;
    bool no_journal = false;
    bool dry_run = false;
    const char* wants_journal = nullptr; ///< Why an option that was typed needs a journal.
    bool wants_image = false;            ///< An option was typed that is for image files.
    bool no_replace = false;
    bool replace = false; ///< Overrides a site's no-replace.
};

/// Reports a replaced set-up without -v too, because somebody may have lost GPUs by it.
void tell(Outcome outcome, const char* applied, const RootDirectory& root, const Messages& messages)
{
    const Verbosity least = outcome == Outcome::replaced ? Verbosity::normal : Verbosity::verbose;
    if (messages.verbosity < least)
        return;
    messages.tell(formatted("{}: {}", root.name(),
                            outcome == Outcome::applied     ? applied
                            : outcome == Outcome::unchanged ? "set up already"
                                                            : "an older set-up was replaced"));
}

/// Another set-up is there. The hint depends on where --no-replace comes from.
[[noreturn]] void refuse_kept(const gpucontainer::Error& kept, const Origins& origins)
{
    const std::string site = origins.place_of("no-replace");
    const std::string way = site.empty() ? "without --no-replace"
                                         : formatted("with --replace, which overrules {},", site);
    throw gpucontainer::Error(kept.status(), kept.what(),
                              formatted("{}; {} this call replaces it", kept.hint(), way),
                              kept.os_error());
}

gpucontainer::ApplyOptions apply_options(const ApplyArguments& options, const RootDirectory& root)
{
    gpucontainer::ApplyOptions how;
    how.state_dir = state_directory(options.state);
    root.set_process(how);
    options.request.set(how);
    return how;
}

/// The set-ups of a root.
gpucontainer::SetupList set_ups_of(const RootDirectory& root, const ApplyArguments& options)
{
    gpucontainer::SetupListOptions where;
    where.state_dir = state_directory(options.state);
    root.set_process(where);
    return gpucontainer::SetupList(root.fd(), where);
}

gpucontainer::Request request_of(const ApplyArguments& options, const RootDirectory& root,
                                 const Messages& messages)
{
    gpucontainer::Request request = options.request.request(root.fd(), messages);
    if (options.root
            .pid) // its programs run with the image's C library; a site's setting is ignored
        request.glibc = GPUCTR_GLIBC_NEVER;
    return request;
}

gpucontainer::Request request_without_writing(const ApplyArguments& options,
                                              const RootDirectory& root, const Messages& messages)
{
    gpucontainer::Request request = request_of(options, root, messages);
    request.write = GPUCTR_WRITE_NEVER;
    return request;
}

void show(const Forecast& forecast, const RootDirectory& root, const ApplyArguments& options,
          const Call& call, Format format)
{
    print_apply(forecast, root.name(), call, format);
    const bool binds = !options.root.pid && !options.no_journal && call.command_line.empty();
    if (format == Format::text && forecast.outcome != Outcome::unchanged && binds)
        print_mount_point_note(root.name(), call.streams);
}

/// Where others have a set-up too, apply makes the plan again, and writes no names.
void show_with_journal(const gpucontainer::Host& host, Forecast forecast, const RootDirectory& root,
                       const ApplyArguments& options, const Call& call)
{
    const Format format = call.json ? Format::json : Format::text;
    const gpucontainer::SetupList list = set_ups_of(root, options);
    if (forecast.outcome == Outcome::replaced)
        forecast.replaced = older_set_ups(list, root.name());
    const bool shared = !std::all_of(list.begin(), list.end(), is_ours);
    if (!shared || !forecast.plan.writes_root()) {
        show(forecast, root, options, call, format);
        return;
    }
    const gpucontainer::Plan anew(host, request_without_writing(options, root, call.messages()),
                                  root.fd());
    show({anew, forecast.outcome, std::move(forecast.replaced)}, root, options, call, format);
}

void apply(const ApplyArguments& options, const Call& call)
{
    const Messages messages = call.messages();
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY));
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    const gpucontainer::Plan plan(host, request_of(options, root, messages), root.fd());
    warn_about(plan.findings(), messages);
    gpucontainer::ApplyOptions how = apply_options(options, root);
    how.no_replace = options.no_replace;
    how.dry_run = options.dry_run;
    how.report = [&](const gpucontainer::Finding& finding) { messages.warn(finding); };
    try {
        const Outcome outcome = plan.apply(root.fd(), how);
        if (options.dry_run)
            show_with_journal(host, {plan, outcome, {}}, root, options, call);
        else
            tell(outcome, "set up", root, messages);
    } catch (const gpucontainer::Error& error) {
        if (error.status() == GPUCTR_E_EXISTS)
            refuse_kept(error, call.origins);
        throw;
    }
}

/// Mounts end with the mount namespace. Names would stay, so none are written.
void apply_without_journal(const ApplyArguments& options, const Call& call, Format format)
{
    const Messages messages = call.messages();
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_MOUNT);
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    const gpucontainer::Plan plan(host, request_without_writing(options, root, messages),
                                  root.fd());
    warn_about(plan.findings(), messages);
    gpucontainer::ApplyOptions how = apply_options(options, root);
    how.without_journal = true; // the state directory still shows the set-ups of others
    how.dry_run = options.dry_run;
    const Outcome outcome = plan.apply(root.fd(), how);
    if (options.dry_run)
        show({plan, outcome, {}}, root, options, call, format);
    else
        tell(outcome, "set up until this mount namespace ends", root, messages);
}

/// Plan::apply() would say so, but needs privileges that a command's own namespaces give.
void require_module(const gpucontainer::Plan& plan)
{
    for (const auto driver : plan.drivers())
        if (driver.version_source() == "files")
            throw gpucontainer::Error(
                GPUCTR_E_NO_DEVICE,
                formatted("the {} kernel module is not loaded", driver.vendor()),
                "load it with modprobe, or give the driver version to set up its files all the "
                "same",
                0, std::string(driver.vendor()));
}

/// CMD, and the variables that it is given by which it finds libraries, and is found itself.
void add_command(const ApplyArguments& options, const Call& call, gpucontainer::Request& request)
{
    request.program = call.command_line.front();
    for (const std::string& variable : options.run.variables)
        if (variable.starts_with("LD_LIBRARY_PATH=") || variable.starts_with("PATH="))
            request.container_environment.push_back(variable);
}

/// The plan of run_command(), which makes the names in overlays.
void show_for_command(const ApplyArguments& options, const Call& call, Format format)
{
    shrink_privileges(GPUCTR_PHASE_LOOK);
    const gpucontainer::Host host = options.request.host.open();
    const RootDirectory root = options.root.open();
    gpucontainer::Request request = request_without_writing(options, root, call.messages());
    add_command(options, call, request);
    const gpucontainer::Plan plan(host, request, root.fd());
    warn_about(plan.findings(), call.messages());
    require_module(plan);
    check(options.run);
    show({plan, Outcome::applied, {}}, root, options, call, format);
}

gpucontainer::Error usage(const std::string& problem) { return usage_error_of("apply", problem); }

/// Somebody signed it so that others check that, which nothing here does.
void check_signature(const ImageFile& image, const ApplyArguments& options)
{
    if (image.is_signed && !options.run.unverified)
        throw gpucontainer::Error(
            GPUCTR_E_REQUIREMENT,
            formatted("image {} is signed, and its signatures were not checked", image.name),
            "check them with `apptainer verify IMAGE`, then add --no-verify", 0, {}, "no-verify");
}

gpucontainer::Request request_for_command(const ApplyArguments& options, int rootfs_fd,
                                          const Call& call)
{
    gpucontainer::Request request = options.request.request(rootfs_fd, call.messages());
    add_command(options, call, request);
    return request;
}

int run_with_gpus(const Root& root, const ApplyArguments& options, const Call& call,
                  const std::function<gpucontainer::Request(int)>& request)
{
    const Messages messages = call.messages();
    const bool if_present = options.request.host.if_present;
    std::optional<Gpus> gpus;
    with_gpu(if_present, messages, [&] {
        const auto host = std::make_shared<const gpucontainer::Host>(options.request.host.open());
        const auto plan = [host, request](int rootfs_fd, std::uint32_t write) {
            gpucontainer::Request wanted = request(rootfs_fd);
            wanted.write = write;
            return gpucontainer::Plan(*host, wanted, rootfs_fd);
        };
        gpus.emplace(Gpus{plan, {}, if_present});
        options.request.set(gpus->how);
    });
    RunOptions how = options.run;
    how.mount_label = options.request.mount_label;
    return run(root, gpus, how, call.command_line, messages);
}

/// What is in an image is known once it is mounted, in the namespaces of the command.
int run_image(const ImageFile& image, const ApplyArguments& options, const Call& call)
{
    check_signature(image, options);
    if (image.has_overlay)
        call.messages().warn(
            formatted("image {}: the changes in its overlay are left out", image.name));
    return run_with_gpus({image.name, -1, &image}, options, call, [&](int rootfs_fd) {
        return request_for_command(options, rootfs_fd, call);
    });
}

int run_command(const ApplyArguments& options, const Call& call)
{
    with_gpu(options.request.host.if_present, call.messages(),
             [&] { options.request.load_kmods(call.messages()); });
    prepare_to_run();
    if (const std::optional<ImageFile> image = options.root.open_image(ImageUse::mounted))
        return run_image(*image, options, call);
    if (options.wants_image)
        throw usage("--writable-tmpfs and --no-verify go with an image file");
    const RootDirectory root = options.root.open();
    gpucontainer::Request request = request_for_command(options, root.fd(), call);
    return run_with_gpus({root.name(), root.fd(), nullptr}, options, call,
                         [&](int) { return std::move(request); });
}

const char* reason_for_a_journal(const ApplyArguments& options)
{
    if (!options.state.empty())
        return "there is nothing to keep in --state-dir";
    if (options.root.pid)
        return "--pid needs a journal: the container goes on, and only undo removes the set-up";
    if (options.request.write == GPUCTR_WRITE_ALWAYS)
        return "what --write always creates could not be undone";
    if (options.replace)
        return "nothing is replaced without a journal";
    return nullptr;
}

/// What was typed and does not go with -- CMD, or null.
const char* objection_to_command(const ApplyArguments& options)
{
    if (options.root.pid)
        return "--pid: -- CMD makes a container of its own";
    if (!options.state.empty())
        return "--state-dir: with -- CMD there is nothing to undo";
    if (options.no_replace || options.replace)
        return "--replace and --no-replace: with -- CMD nothing is replaced";
    if (options.request.write == GPUCTR_WRITE_ALWAYS)
        return "--write always: with -- CMD nothing is ever written";
    return options.no_journal ? "--no-journal: -- CMD keeps no journal anyway" : nullptr;
}

/// Refuses typed options that do not go together. A site's settings are not checked: one that
/// does not fit the form of the call is ignored.
void check_command_line(const ApplyArguments& options, bool with_command)
{
    if (!with_command && options.run.is_set())
        throw usage("--chdir, --setenv, --clean-env, --bind, --allow-setuid, --writable-tmpfs and "
                    "--no-verify go with -- CMD");
    if (const char* const objection = with_command ? objection_to_command(options) : nullptr)
        throw usage(objection);
    if (options.root.pid && options.request.glibc == GPUCTR_GLIBC_AUTO)
        throw usage("--glibc auto: programs of the container that --pid names run already, with "
                    "the C library of its image");
    if (options.dry_run && options.request.loads_kmods)
        throw usage("--load-kmods: --dry-run changes nothing");
    options.request.check_typed_loading("apply");
    if (options.no_journal && options.wants_journal != nullptr)
        throw usage(formatted("--no-journal: {}", options.wants_journal));
}

/// The default command: sets up GPUs in a root file system, or runs a command with them in
/// private namespaces.
class Apply : public Command {
public:
    void add_options(CLI::App& app) override
    {
        options_.request.add_to(app);
        options_.request.add_loading_to(app);
        options_.root.add_to(app);
        add_state_option(app, options_.state);
        add_journal_options(app);
        add_run_options(app, options_.run);
        add_dry_run_option(app, options_.dry_run);
        add_format_to(app);
    }

    void check_typed(const Call& call) override
    {
        options_.wants_journal = reason_for_a_journal(options_);
        options_.wants_image = options_.run.writable || options_.run.unverified;
        check_command_line(options_, !call.command_line.empty());
    }

    void check_complete() const override
    {
        if (options_.request.host.vendors.empty())
            throw usage("name a vendor, such as --nv, or --gpu for all");
        if (!options_.root.is_given())
            throw usage("--rootfs is required");
    }

    int run(const Call& call) override
    {
        try {
            return set_up(call);
        } catch (const gpucontainer::Error& error) {
            tell_other_causes(error, options_.request, options_.root, call);
            throw;
        }
    }

private:
    int set_up(const Call& call)
    {
        if (!call.command_line.empty() && !options_.dry_run)
            return run_command(options_, call);
        // A site's no-journal is ignored if an option that was typed needs a journal.
        const bool journal = !options_.no_journal || options_.wants_journal != nullptr;
        with_gpu(options_.request.host.if_present, call.messages(), [&] {
            if (!options_.dry_run)
                options_.request.load_kmods(call.messages());
            if (!call.command_line.empty())
                show_for_command(options_, call, format());
            else if (journal)
                apply(options_, call);
            else
                apply_without_journal(options_, call, format());
        });
        return ExitCode::done;
    }

    void add_journal_options(CLI::App& app)
    {
        app.option_defaults()->group(how);
        app.add_flag("--no-journal", options_.no_journal,
                     "for a runtime's hook: the set-up ends with the mount namespace and "
                     "cannot be undone before");
        CLI::Option* const replace =
            app.add_flag("--replace", options_.replace,
                         "replace an older set-up; this is the default, unless a site's "
                         "configuration has no-replace");
        app.add_flag("--no-replace", options_.no_replace,
                     "fail if there is an older set-up that may be in use")
            ->excludes(replace);
    }

    ApplyArguments options_;
};

} // namespace

const CommandEntry apply_command = {
    "apply",
    "set up GPUs in a root file system (the default)",
    "VENDOR... --rootfs DIR [OPTION]...\n"
    "VENDOR... --rootfs DIR [OPTION]... -- CMD [ARG]...",
    R"(
Set up GPUs in DIR, the directory with a container's /usr and /etc. The mounts
stay until `gpuctr-setup undo`, or until the mount namespace ends. If a step
fails, nothing of the set-up is left.

With -- CMD, run CMD in private namespaces with DIR as its root directory and
the GPUs in it. An ordinary user can do this. DIR is not written, and there is
nothing to undo. DIR may also be an image in one file: a SIF, or squashfs.

Examples:
  gpuctr-setup --nv --rootfs /srv/image
      set up all NVIDIA GPUs that this job may use
  gpuctr-setup --nv --device 0,GPU-8e8f6868 --rootfs /srv/image
      the first GPU, and one by the beginning of its UUID
  gpuctr-setup --nv --rootfs /srv/image --dry-run
      what that would do, without doing it
  gpuctr-setup --rocm --rootfs /srv/image -- rocminfo
      run a program of the image with the AMD GPUs
  gpuctr-setup --nv --rootfs image.sif -- python3 train.py
      run a program of an image file with the NVIDIA GPUs
  gpuctr-setup --nv --pid 4711
      set up the running container that process 4711 belongs to
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Apply>(); },
    true};

} // namespace gpuctr_cli
