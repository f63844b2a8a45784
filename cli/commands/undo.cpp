// SPDX-License-Identifier: MIT
#include "commands/command.hpp"
#include "commands/dry_run.hpp"
#include "options/root_options.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "output/messages.hpp"
#include "output/output.hpp"
#include "output/table.hpp"
#include "process/privileges.hpp"

#include <algorithm>
#include <gpucontainer/gpucontainer.hpp>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Setup;
using gpucontainer::Undone;

void undo_root(const RootDirectory& root, const std::string& state, const Messages& messages)
{
    gpucontainer::UndoOptions how;
    how.state_dir = state;
    root.set_process(how);
    how.report = [&](const gpucontainer::Finding& finding) { messages.warn(finding); };
    const bool found = gpucontainer::undo(root.fd(), how);
    if (!found && messages.verbosity != Verbosity::quiet)
        messages.tell(formatted("nothing is set up in {}", root.name()));
    if (found && messages.verbosity == Verbosity::verbose)
        messages.tell(formatted("{}: undone", root.name()));
}

std::string name_of(const Setup& setup)
{
    return setup.root().empty()
               ? formatted("a container of mount namespace {}", setup.mount_namespace())
               : std::string(setup.root());
}

void tell(const Setup& setup, Undone undone, const Messages& messages)
{
    if (undone == Undone::left && messages.verbosity != Verbosity::quiet)
        messages.tell(formatted("{}: left, {}", name_of(setup),
                                setup.origin() == "another_namespace" ? formatted(
                                    "in use in mount namespace {}", setup.mount_namespace())
                                                                      : "out of reach from here"));
    else if (messages.verbosity == Verbosity::verbose)
        messages.tell(formatted("{}: {}", name_of(setup),
                                undone == Undone::undone ? "undone" : "gone, and forgotten"));
}

/// Goes on after a failure. Returns the exit code of the first one.
int undo_all(const std::string& state_directory, const Messages& messages)
{
    gpucontainer::SetupListOptions where;
    where.state_dir = state_directory;
    const gpucontainer::SetupList list(-1, where);
    std::vector<Setup> all(list.begin(), list.end());
    gpucontainer::UndoOptions how;
    how.state_dir = state_directory;
    // First those of this namespace: their mounts may cover names that others left.
    std::stable_partition(all.begin(), all.end(),
                          [](const Setup& setup) { return setup.origin() == "here"; });
    if (all.empty() && messages.verbosity == Verbosity::verbose)
        messages.tell("nothing is set up");
    int code = ExitCode::done;
    for (const Setup& setup : all) {
        how.report = [&](const gpucontainer::Finding& finding) {
            messages.warn(finding, name_of(setup));
        };
        try {
            tell(setup, setup.undo(how), messages);
        } catch (const gpucontainer::Error& error) {
            const int failed = messages.report(error);
            code = code == ExitCode::done ? failed : code;
        }
    }
    return code;
}

/// Warns of what is not as apply left it. Undo leaves it, but for entries in a loader cache.
void warn_of_rest(const std::vector<FoundSetUp>& found, const Messages& messages)
{
    for (const FoundSetUp& one : found)
        for (const gpucontainer::Finding finding : one.setup.findings())
            if (one.undone == Undone::undone && finding.code() == "part_missing")
                messages.warn(
                    formatted("{}: {}: not as it was left; only what is ours in it would go",
                              one.name, finding.object()));
}

/// What undo_root() would take away.
int show_root(const RootDirectory& root, const std::string& state, const Call& call, Format format)
{
    gpucontainer::UndoOptions how;
    how.state_dir = state;
    how.dry_run = true;
    root.set_process(how);
    if (!gpucontainer::undo(root.fd(), how) && call.verbosity != Verbosity::quiet)
        call.messages().tell(formatted("nothing is set up in {}", root.name()));
    gpucontainer::SetupListOptions where;
    where.state_dir = state;
    root.set_process(where);
    const gpucontainer::SetupList list(root.fd(), where);
    std::vector<FoundSetUp> found;
    for (const Setup& setup : list)
        if (is_ours(setup))
            found.push_back({setup, root.name(), Undone::undone});
    print_undo(found, call, format);
    warn_of_rest(found, call.messages());
    return ExitCode::done;
}

/// What undo_all() would take away.
int show_all(const std::string& state, const Call& call, Format format)
{
    gpucontainer::SetupListOptions where;
    where.state_dir = state;
    const gpucontainer::SetupList list(-1, where);
    gpucontainer::UndoOptions how;
    how.state_dir = state;
    how.dry_run = true;
    std::vector<FoundSetUp> found;
    int code = ExitCode::done;
    for (const Setup& setup : list)
        try {
            found.push_back({setup, name_of(setup), setup.undo(how)});
        } catch (const gpucontainer::Error& error) {
            const int failed = call.messages().report(error);
            code = code == ExitCode::done ? failed : code;
        }
    if (code == ExitCode::done || format == Format::text)
        print_undo(found, call, format);
    warn_of_rest(found, call.messages());
    return code;
}

/// Undoes what apply did, and only that.
class Undo : public Command {
public:
    void add_options(CLI::App& app) override
    {
        root_.add_to(app);
        root_.add_all_to(app);
        add_state_option(app, state_);
        add_dry_run_option(app, dry_run_);
        add_format_to(app);
    }

    void check_complete() const override { root_.require_or_all("undo"); }

    int run(const Call& call) override
    {
        shrink_privileges(root_.phases(GPUCTR_PHASE_APPLY));
        if (root_.all && dry_run_)
            return show_all(state_directory(state_), call, format());
        if (root_.all)
            return undo_all(state_directory(state_), call.messages());
        const RootDirectory root = root_.open();
        if (dry_run_)
            return show_root(root, state_directory(state_), call, format());
        undo_root(root, state_directory(state_), call.messages());
        return ExitCode::done;
    }

private:
    RootOptions root_;
    std::string state_;
    bool dry_run_ = false;
};

} // namespace

const CommandEntry undo_command = {
    "undo", "undo what apply did, and only that",
    "--rootfs DIR [OPTION]...\n"
    "--all [OPTION]...",
    R"(
Undo what `gpuctr-setup apply` did, and only that. What others changed since
then is named and left.

Examples:
  gpuctr-setup undo --rootfs /srv/image
      undo what is set up in /srv/image
  gpuctr-setup undo --rootfs /srv/image --dry-run
      what that would take away
  gpuctr-setup undo --all
      undo every set-up of this host, for example in a scheduler's epilog
)",
    []() -> std::unique_ptr<Command> { return std::make_unique<Undo>(); }};

} // namespace gpuctr_cli
