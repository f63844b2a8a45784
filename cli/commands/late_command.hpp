// SPDX-License-Identifier: MIT
#pragma once

#include "commands/words.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// For a call that names its command behind options, which for the parser are those of the
/// default command: `extras` had no place among these. The hint is a call that works, without
/// the options that the command does not take. Nothing where no command is named there.
std::optional<gpucontainer::Error> explain_late_command(const CLI::App& app,
                                                        const std::vector<std::string>& extras,
                                                        const Words& words);

} // namespace gpuctr_cli
