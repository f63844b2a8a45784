// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/journal.hpp"
#include "plan/plan.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::apply {

/// Whether somebody may rely on a set-up of the root: it was once complete, nobody began to
/// undo it, and its mounts were not lost as a whole. Parts of it may be missing.
Result<bool> may_be_in_use(const journal::Journal& journal, journal::Origin origin, int rootfs_fd);

/// Tells which set-up is not replaced, by its age and its GPUs. `path` is that of the root
/// now, "" for the root of a process; `why` is added to the text.
Error not_to_be_replaced(const journal::Journal& journal, const std::string& path,
                         std::string_view why = "");

/// For a plan without a journal, which can neither replace a set-up nor be told from one later:
/// that nothing is set up there in this mount namespace. By the journals, as far as the caller
/// may read them, and by what is mounted. Errors: exists.
Result<void> require_nothing_there(const plan::Plan& plan, const Target& target);

} // namespace gpucontainer::apply
