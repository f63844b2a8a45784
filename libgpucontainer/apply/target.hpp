// SPDX-License-Identifier: MIT
#pragma once

#include "model/finding.hpp"
#include "mount/kernel.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::apply {

/// Where a plan is made true.
struct Target {
    int rootfs_fd = -1;
    std::string state_directory = "/var/lib/gpucontainer"; ///< Of the journals.
    /// Process in whose mount namespace it is done, on a thread that shares its
    /// working directory with none; -1: in the caller's.
    int pidfd = -1;
    bool for_setuid = false; ///< A program with raised privileges is made for it.
    bool no_replace = false; ///< A set-up that may be in use is an error, and stays.
    /// Without a journal: what is set up already are copies that nobody else uses.
    bool over_copies = false;
    mount::Backend backend = mount::Backend::detached;
    std::string staged_tree; ///< Where on the host a tree to clone may be; maybe "".
    /// Gets what a person should know; null: nobody is told.
    model::Findings* findings = nullptr;
};

enum class Outcome : std::uint8_t { applied, unchanged, replaced };

} // namespace gpucontainer::apply
