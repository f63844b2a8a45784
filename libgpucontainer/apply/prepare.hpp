// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "program/builder.hpp"

#include <string>

namespace gpucontainer::apply {

/// Errors of prepare() that are known without making anything: permission without CAP_SYS_ADMIN;
/// no_device if no kernel module is loaded; requirement, if the plan asks for what the kernel
/// lacks.
Result<void> require_preparable(const plan::Plan& plan, mount::Backend backend);

/// Makes detached mounts from the plan, and a program to attach them. Changes nothing. If the
/// kernel has no detached mounts, they are on the bench's scratch directory, which must stay until
/// they are attached. `staged_tree` is the host's directory with a staged tree, or "". Errors:
/// those of require_preparable(); driver if a source is no longer the file that was planned.
Result<program::Block> prepare(const plan::Plan& plan, const mount::Bench& bench,
                               const std::string& staged_tree);

} // namespace gpucontainer::apply
