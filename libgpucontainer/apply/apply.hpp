// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "privilege/file_owner.hpp"

#include <cstdint>
#include <functional>
#include <optional>
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

/// Makes the same plan anew, after what an older one did is gone, for names that `owner` makes,
/// or the caller; `shared` when the root file system must not be written whatever was asked for.
using Replan = std::function<Result<plan::Plan>(int rootfs_fd, bool shared,
                                                const std::optional<privilege::Owner>& owner)>;

/// Makes the plan true, completely or not at all, with a journal. What is done in the root of a
/// process is done as root of its user namespace.
Result<Outcome> apply(const plan::Plan& plan, const Replan& replan, const Target& caller);

/// Makes the plan true, completely or not at all, in a root that ends with the caller's
/// mount namespace, which is its own. Of `target` the root, the state directory and
/// `over_copies` count. Errors: exists, where something is set up.
Result<void> apply_without_journal(const plan::Plan& plan, const Target& target);

/// Takes back what apply() did there; false when there was nothing.
Result<bool> undo(const Target& target);

} // namespace gpucontainer::apply
