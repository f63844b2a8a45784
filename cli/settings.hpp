// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace gpuctr_setup {

/// An option of this group is policy: only the configuration file sets it, and
/// --help does not show it.
inline constexpr const char* policy_group = "";

/// Gives the options of the chosen command that the command line left out their
/// values: from a variable GPUCTR_<OPTION>, unless privileges are raised, else from
/// /etc/gpucontainer/config.yaml. What names the target or the action is left
/// alone, and so is what does not go with an option that was typed. To be called between parsing
/// and reading the options. Throws gpucontainer::Error: usage, permission.
void add_settings(const CLI::App& app);

/// Empty for a variable that is not set, or must not count: a program started
/// with more rights than its caller has takes nothing from him.
std::string trusted_variable(const std::string& name);

} // namespace gpuctr_setup
