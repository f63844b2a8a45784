// SPDX-License-Identifier: MIT
#pragma once

#include "commands/words.hpp"

#include <CLI/CLI.hpp>
#include <gpucontainer/gpucontainer.hpp>

namespace gpuctr_cli {

/// The usage error for what the parser found wrong. `words` are as they were typed.
gpucontainer::Error explain(const CLI::App& app, const CLI::ParseError& error, const Words& words);

} // namespace gpuctr_cli
