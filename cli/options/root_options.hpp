// SPDX-License-Identifier: MIT
#pragma once

#include "options/root_directory.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// --rootfs, --rootfs-fd and --pid, of which one is given at most.
struct RootOptions {
    std::string path;
    std::optional<int> descriptor;
    std::optional<int> pid;
    std::vector<std::string> allowed; ///< Where `path` has to be; empty: anywhere.

    bool all = false; ///< Every root, for commands that take --all.

    void add_to(CLI::App& command);
    void add_all_to(CLI::App& command);
    /// `phases` of GPUCTR_PHASE_*, with what a process as the root needs besides.
    std::uint32_t phases(std::uint32_t phases) const noexcept
    {
        return pid ? phases | GPUCTR_PHASE_IN_PROCESS : phases;
    }
    bool is_given() const noexcept { return !path.empty() || descriptor || pid; }
    /// For a command that also takes --all. Throws, when neither is given: usage.
    void require_or_all(const std::string& command) const;
    /// Throws also when none is given: usage.
    RootDirectory open() const;
};

/// Directory for the journals: the option, or what fits the user.
std::string state_directory(const std::string& option);
void add_state_option(CLI::App& command, std::string& option);

} // namespace gpuctr_cli
