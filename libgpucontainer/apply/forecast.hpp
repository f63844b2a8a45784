// SPDX-License-Identifier: MIT
#pragma once

#include "apply/device_access.hpp"
#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/journal.hpp"
#include "journal/seen_root.hpp"
#include "plan/plan.hpp"

namespace gpucontainer::apply {

/// Errors: rootfs, if another directory is mounted over the root.
Result<void> require_uncovered(const journal::SeenRoot& root);

/// Whether the journal's set-up is what the plan wants, and is complete.
bool is_current(const journal::Journal& journal, const plan::Plan& plan,
                const journal::Viewpoint& here, const DeviceAccess& devices, int rootfs_fd);

/// What apply() would do, from journals that are only read. Errors: those of apply() before it
/// changes anything.
Result<Outcome> forecast(const plan::Plan& plan, const Target& target, const DeviceAccess& devices,
                         journal::SeenRoot& root);

} // namespace gpucontainer::apply
