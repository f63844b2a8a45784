// SPDX-License-Identifier: MIT
#pragma once

#include "model/finding.hpp"
#include "mount/kernel.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::apply {

/// Where and how a plan is applied.
struct Target {
    int rootfs_fd = -1;
    std::string state_directory = "/var/lib/gpucontainer"; ///< Directory of the journals.
    /// Process in whose mount namespace it is done; -1: in the caller's. The calling thread must
    /// share its working directory with no other.
    int pidfd = -1;
    bool for_setuid = false; ///< The program has raised privileges and is made for this.
    bool dry_run = false;    ///< Decides, and changes nothing.
    bool no_replace = false; ///< Another set-up that may be in use is an error.
    /// Without a journal: set-ups that exist are copies that nobody else uses.
    bool over_copies = false;
    mount::Backend backend = mount::Backend::detached;
    std::string staged_tree; ///< The host's directory with a staged tree; may be "".
    /// Receives what a person should know; null: nobody wants it.
    model::Findings* findings = nullptr;
};

enum class Outcome : std::uint8_t { applied, unchanged, replaced };

} // namespace gpucontainer::apply
