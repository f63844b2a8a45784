// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"
#include "options/root_directory.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// --rootfs, --rootfs-fd and --pid. At most one is given.
struct RootOptions {
    std::string path;
    std::optional<int> descriptor;
    std::optional<int> pid;
    std::vector<std::string> allowed; ///< Directories that `path` must be in; empty: anywhere.

    bool all = false; ///< Every root, for commands that take --all.

    void add_to(CLI::App& command);
    void add_all_to(CLI::App& command);
    /// `phases` of GPUCTR_PHASE_*, and with --pid what that needs in addition.
    std::uint32_t phases(std::uint32_t phases) const noexcept
    {
        return pid ? phases | GPUCTR_PHASE_IN_PROCESS : phases;
    }
    bool is_given() const noexcept { return !path.empty() || descriptor || pid; }
    /// For a command that also takes --all. Throws if no root is given: usage.
    void require_or_all(const std::string& command) const;
    /// Throws gpucontainer::Error; if no root is given: usage.
    RootDirectory open() const;
    /// The same for a command that only reads it: it may be an image file too.
    RootDirectory open_to_read() const;
    /// The image file that --rootfs names; none if it is a directory. Throws gpucontainer::Error.
    std::optional<ImageFile> open_image(ImageUse use) const;
};

/// Directory of the journals: the option, or the default of the user.
std::string state_directory(const std::string& option);
void add_state_option(CLI::App& command, std::string& option);

} // namespace gpuctr_cli
