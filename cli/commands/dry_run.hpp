// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

void add_dry_run_option(CLI::App& command, bool& dry_run);

/// Prints what a plan consists of, as the command `plan` does.
void print_plan(const gpucontainer::Plan& plan, Verbosity verbosity, const Streams& streams);
/// Apply makes the root a mount point, which programs that copy it can trip over.
void print_mount_point_note(const std::string& root, const Streams& streams);

/// A set-up that undo would find.
struct FoundSetUp {
    gpucontainer::Setup setup;
    std::string name; ///< Of its root.
    gpucontainer::Undone undone;
};

/// Whether undo takes a set-up of this root away, because nobody else relies on it.
bool is_ours(const gpucontainer::Setup& setup);

/// Those of a root that apply undoes first.
std::vector<FoundSetUp> older_set_ups(const gpucontainer::SetupList& list, const std::string& root);

/// What apply would do in a root.
struct Forecast {
    const gpucontainer::Plan& plan;
    gpucontainer::Outcome outcome;
    std::vector<FoundSetUp> replaced; ///< They go first.
};

void print_apply(const Forecast& forecast, const std::string& root, const Call& call,
                 Format format);

/// Prints what undo would take away.
void print_undo(const std::vector<FoundSetUp>& found, const Call& call, Format format);

} // namespace gpuctr_cli
