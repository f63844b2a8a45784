// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/run.hpp"

#include <CLI/CLI.hpp>

namespace gpuctr_cli {

/// Adds the options that go with -- CMD.
void add_run_options(CLI::App& app, RunOptions& run);

} // namespace gpuctr_cli
