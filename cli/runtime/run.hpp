// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// The GPUs of a host, and which of them CMD gets.
struct Gpus {
    gpucontainer::Host host;
    gpucontainer::Request request;
    gpucontainer::ApplyOptions how; ///< The staged tree and the backend count.
    bool if_present = false;        ///< Having none is a warning.
};

/// What CMD gets besides the GPUs.
struct RunOptions {
    std::string directory;              ///< Working directory; empty: "/".
    std::vector<std::string> variables; ///< NAME=VALUE
    std::vector<std::string> binds;     ///< SRC[:DST[:ro]]
    bool allow_setuid = false;          ///< Setuid programs have their effect.
    bool clean_environment = false;     ///< Nothing of the caller's environment.
    std::string mount_label;            ///< SELinux's, of its /dev; or "".

    /// Whether something is set that goes with CMD only.
    bool is_set() const noexcept
    {
        return !directory.empty() || !variables.empty() || !binds.empty() || allow_setuid
               || clean_environment;
    }
};

/// A directory that becomes the root of CMD.
struct Root {
    int fd;
    std::string name; ///< What messages call it.
};

/// Drops the privileges that are not needed to run a command; to be called before its root
/// and the host are opened. Throws gpucontainer::Error.
void prepare_to_run();

/// Makes private namespaces with the given root and the GPUs in it, and
/// becomes `command_line` there; nothing is written into it. Returns only
/// when the command could not be executed, with the exit code for that. Throws
/// gpucontainer::Error when the set-up fails.
int run(const Root& root, const std::optional<Gpus>& gpus, const RunOptions& options,
        const std::vector<std::string>& command_line, const Messages& messages);

} // namespace gpuctr_cli
