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
    bool allow_setuid = false;          ///< Setuid programs have their effect.
    bool clean_environment = false;     ///< Nothing of the caller's environment.

    /// Whether something is set that goes with CMD only.
    bool is_set() const noexcept
    {
        return !directory.empty() || !variables.empty() || !binds.empty() || allow_setuid
               || clean_environment;
    }
};

/// Makes private namespaces with the given root and the GPUs in it, and
/// becomes `command_line` there; nothing is written into it. Returns only
/// when the command could not be executed, with the exit code for that. Throws
/// gpucontainer::Error when the set-up fails.
int run(const RequestOptions& request, const RootOptions& root_options, const RunOptions& options,
        const std::vector<std::string>& command_line, const Messages& messages);

} // namespace gpuctr_setup
