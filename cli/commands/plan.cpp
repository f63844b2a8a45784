// SPDX-License-Identifier: MIT
#include "commands/any_image.hpp"
#include "commands/command.hpp"
#include "commands/dry_run.hpp"
#include "formats/formats.hpp"
#include "options/groups.hpp"
#include "options/request_options.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string>

namespace gpuctr_cli {
namespace {

using gpucontainer::Plan;

constexpr const char* oci = "oci";

struct PlanArguments {
    RequestOptions request;
    RootOptions root;
    OtherFormats others;
    std::string files_directory = usual_files_directory;
};

void show_edits(const Plan& plan, const gpucontainer::Host& host, const PlanArguments& options,
                const Call& call)
{
    print(call.streams.out, "{}", plan.to_oci(options.files_directory));
    const auto missing = missing_files(plan, host, options.files_directory);
    if (!missing.empty())
        call.messages().warn(formatted("have to be made first: {}: {}", fmt::join(missing, ", "),
                                       how_to_make_files(options.files_directory)));
}

void show_for(const GivenFormat& format, const Plan& plan, const gpucontainer::Host& host,
              const PlanArguments& options, const Call& call)
{
    const Messages messages = call.messages();
    const Given given = given_by(plan, host, options.files_directory, messages);
    Notes notes;
    print(call.streams.out, "{}", format.write(given, notes));
    if (call.verbosity == Verbosity::quiet)
        return;
    if (format.mounts && !given.files.empty())
        messages.tell("these are single files in the default directories of loaders, without a "
                      "loader cache: a library that an image's own cache has is found before them");
    for (const std::string& note : notes)
        messages.tell(note);
    if (call.verbosity == Verbosity::verbose)
        for (const gpucontainer::Finding finding : plan.findings())
            if (finding.severity() == gpucontainer::Severity::need)
                messages.tell("the container needs " + finding.message());
}

/// As other programs take it.
void show_for_others(const PlanArguments& options, const Call& call)
{
    if (options.root.is_given())
        throw usage_error_of("plan", formatted("--format {} is for any image: leave the root "
                                               "directory out",
                                               options.others.chosen));
    const Messages messages = call.messages();
    shrink_privileges(GPUCTR_PHASE_LOOK);
    const gpucontainer::Host host = options.request.host.open(!options.request.host.if_present);
    const Plan plan(host, request_for_any_image(options.request, messages), -1);
    warn_about(host.findings(), messages);
    warn_about(plan.findings(), messages);
    const auto& formats = given_formats();
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const auto& one) {
        return options.others.chosen == one.name;
    });
    if (format == formats.end())
        show_edits(plan, host, options, call);
    else
        show_for(*format, plan, host, options, call);
}

void show(const PlanArguments& options, Format format, const Call& call)
{
    const Messages messages = call.messages();
    shrink_privileges(options.root.phases(GPUCTR_PHASE_LOOK));
    // With --if-present and no GPU, apply sets up nothing: there is nothing to show.
    const gpucontainer::Host host = options.request.host.open(!options.request.host.if_present);
    std::optional<RootDirectory> root;
    if (options.root.is_given())
        root.emplace(options.root.open_to_read());
    const Plan plan(host, options.request.request(root ? root->fd() : -1, messages),
                    root ? root->fd() : -1);
    warn_about(host.findings(), messages);
    warn_about(plan.findings(), messages);
    if (format == Format::json)
        print(call.streams.out, "{}", plan.to_json());
    else
        print_plan(plan, call.verbosity, call.streams);
    if (format == Format::text && root && !root->is_image() && !options.root.pid)
        print_mount_point_note(root->name(), call.streams);
}

/// Prints what apply would do, and changes nothing.
class PlanCommand : public Command {
public:
    void add_options(CLI::App& app) override
    {
        options_.request.add_to(app);
        options_.request.host.add_record_to(app);
        options_.root.add_to(app);
        options_.others.names = {oci};
        for (const GivenFormat& format : given_formats())
            options_.others.names.emplace_back(format.name);
        add_format_to(app, &options_.others);
        app.option_defaults()->group(what_is_printed);
        add_files_dir_option(app, options_.files_directory, "for the other formats");
        app_ = &app;
    }

    void check_typed(const Call& /*call*/) override
    {
        const bool for_others = format() == Format::other;
        if (!for_others && app_->count("--files-dir") != 0)
            throw usage_error_of("plan", "--files-dir goes with formats of other programs");
        if (for_others)
            refuse_options_of_a_root(*app_, "plan", "--format " + options_.others.chosen);
    }

    int run(const Call& call) override
    {
        with_gpu(options_.request.host.if_present, call.messages(), [&] {
            if (format() == Format::other)
                show_for_others(options_, call);
            else
                show(options_, format(), call);
        });
        return ExitCode::done;
    }

private:
    PlanArguments options_;
    const CLI::App* app_ = nullptr;
};

} // namespace

const CommandEntry plan_command = {
    "plan", "show what apply would do, and why", "[VENDOR...] [--rootfs DIR] [OPTION]...",
    R"(
Show what `gpuctr-setup apply` would do with the same options. Nothing is
changed. -v adds the reason for each item, and what was left out. Without
--rootfs, show what a typical root file system would get.

With the --format of another program, print the options or the lines of its
configuration by which it gives the GPUs to a container of any image.

Examples:
  gpuctr-setup plan --nv --rootfs /srv/image
      what would be mounted and created in /srv/image
  gpuctr-setup plan --nv --host host.json --format json
      for another machine, from its record host.json
  eval "podman run $(gpuctr-setup plan --nv --format podman) IMAGE"
      with the options that podman needs for it
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<PlanCommand>(); }};

} // namespace gpuctr_cli
