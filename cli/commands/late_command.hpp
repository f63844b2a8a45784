// SPDX-License-Identifier: MIT
#pragma once

#include "commands/words.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// Explains a call that names its command after options. The parser takes such options for those
/// of the default command; `extras` are the words that do not belong to it. The hint is a call
/// that works, without options that the command does not take. Nothing if `extras` have no
/// command.
std::optional<gpucontainer::Error> explain_late_command(const CLI::App& app,
                                                        const std::vector<std::string>& extras,
                                                        const Words& words);

} // namespace gpuctr_cli
