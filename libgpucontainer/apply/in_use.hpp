// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/journal.hpp"
#include "plan/planned.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::apply {

/// Whether somebody may use a set-up of the root: it was complete, nobody began to undo it, and
/// not all of its mounts are gone. Parts of it may be missing.
Result<bool> may_be_in_use(const journal::Journal& journal, journal::Origin origin, int rootfs_fd);

/// The error for a set-up that is not replaced, with its age and GPUs. `path` is the present path
/// of the root, "" for the root of a process. `why` is appended.
Error not_to_be_replaced(const journal::Journal& journal, const std::string& path,
                         std::string_view why = "");

/// For a plan without a journal, which cannot replace a set-up or be distinguished from one later:
/// whether just this plan is set up there in this mount namespace. Uses the journals that the
/// caller may read, and the mounts. Errors: exists, for another set-up or one with a journal.
Result<bool> is_there_already(const plan::Planned& planned, const Target& target);

} // namespace gpucontainer::apply
