// SPDX-License-Identifier: MIT
#pragma once

#include "options/request_options.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace gpuctr_cli {

/// Refuses typed options about one root file system, or about how it is set up. `what` is for any
/// image. Throws gpucontainer::Error: usage.
void refuse_options_of_a_root(const CLI::App& app, const std::string& command,
                              const std::string& what);

/// What other programs are told of: mounts alone, as they make no loader cache. Throws
/// gpucontainer::Error: usage.
gpucontainer::Request request_for_any_image(const RequestOptions& options,
                                            const Messages& messages);

/// Adds --files-dir. `when` it counts.
void add_files_dir_option(CLI::App& app, std::string& directory, const std::string& when);

} // namespace gpuctr_cli
