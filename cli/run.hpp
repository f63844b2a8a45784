// SPDX-License-Identifier: MIT
#pragma once

#include "messages.hpp"
#include "request_options.hpp"
#include "root_options.hpp"

#include <string>
#include <vector>

namespace gpuctr_setup {

/// What CMD gets besides the GPUs.
struct RunOptions {
    std::string directory;              ///< Working directory; empty: "/".
    std::vector<std::string> variables; ///< NAME=VALUE
    std::vector<std::string> binds;     ///< SRC[:DST[:ro]]

    /// Whether something is set that goes with CMD only.
    bool is_set() const noexcept
    {
        return !directory.empty() || !variables.empty() || !binds.empty();
    }
};

/// Makes private namespaces with `root` as their root and the GPUs in it, and
/// becomes `command_line` there; nothing is written into `root`. Returns only
/// when the command could not be executed, with the exit code for that. Throws
/// gpucontainer::Error when the set-up fails.
int run(const RequestOptions& request, const RootDirectory& root, const RunOptions& options,
        const std::vector<std::string>& command_line, const Messages& messages);

} // namespace gpuctr_setup
