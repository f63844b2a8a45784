// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// Where a plan is made true.
struct Target {
    int rootfs_fd = -1;
    std::string state_directory; ///< Of the journals.
    /// Process in whose mount namespace it is done, on a thread that shares its
    /// working directory with none; -1: in the caller's.
    int pidfd = -1;
    bool for_setuid = false; ///< A program with raised privileges is made for it.
    bool no_replace = false; ///< A set-up that may be in use is an error, and stays.
    /// Without a journal: what is set up already are copies that nobody else uses.
    bool over_copies = false;
    /// Gets a line for each thing that a person should know; null: nobody is told.
    std::vector<std::string>* warnings = nullptr;
};

enum class Outcome : std::uint8_t { applied, unchanged, replaced };

} // namespace gpucontainer::apply
