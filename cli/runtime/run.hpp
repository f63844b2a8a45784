// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"
#include "output/messages.hpp"

#include <cstdint>
#include <functional>
#include <gpucontainer/gpucontainer.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// What CMD gets of this host.
struct Gpus {
    /// Makes the plan for a root. `write` is GPUCTR_WRITE_NEVER unless nothing that is written
    /// outlives the container.
    std::function<gpucontainer::Plan(int rootfs_fd, std::uint32_t write)> plan;
    gpucontainer::ApplyOptions how; ///< Only the staged tree and the backend are used.
    bool if_present = false;        ///< A missing GPU is a warning.
};

/// What CMD gets in addition to the GPUs.
struct RunOptions {
    std::string directory;              ///< Working directory; empty: "/".
    std::vector<std::string> variables; ///< NAME=VALUE
    std::vector<std::string> binds;     ///< SRC[:DST[:ro]]
    bool allow_setuid = false;          ///< CMD may execute setuid programs.
    bool clean_environment = false;     ///< See Environment.
    bool writable = false;              ///< An image file can be written, in memory.
    bool unverified = false;            ///< A signed image file is used without a check.
    std::string mount_label;            ///< SELinux label of its /dev; or "".

    /// Whether an option is set that is for -- CMD only.
    bool is_set() const noexcept
    {
        return !directory.empty() || !variables.empty() || !binds.empty() || allow_setuid
               || clean_environment || writable || unverified;
    }
};

/// What becomes the root directory of CMD.
struct Root {
    std::string name;                 ///< For messages.
    int fd = -1;                      ///< A directory, unless there is an image.
    const ImageFile* image = nullptr; ///< A file that holds it.
};

/// Finds mistakes in the options that run() would find. Throws gpucontainer::Error: usage.
void check(const RunOptions& options);

/// Drops privileges that are not needed to run a command. Call it before the root and the host
/// are opened. Throws gpucontainer::Error.
void prepare_to_run();

/// Makes private namespaces with the root and the GPUs in it, and executes `command_line` there.
/// Nothing is written into the root. Returns only if the command could not be executed, with the
/// exit code. Throws gpucontainer::Error if the set-up fails.
int run(const Root& root, const std::optional<Gpus>& gpus, const RunOptions& options,
        const std::vector<std::string>& command_line, const Messages& messages);

} // namespace gpuctr_cli
