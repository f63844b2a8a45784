// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "plan/planned.hpp"

namespace gpucontainer::apply {

/// Makes the plan true, completely or not at all, with a journal. Where an older set-up goes
/// first, or went since, the plan is made anew. What is done in the root of a process is done as
/// root of its user namespace. Errors: those of plan::prove() first.
Result<Outcome> apply(const plan::Planned& planned, const Target& caller);

/// Makes the plan true, completely or not at all, in a root that ends with the caller's
/// mount namespace, which is its own. Of `target` the root, the state directory and
/// `over_copies` count. Errors: those of plan::prove() first; exists, where something is set up.
Result<Outcome> apply_without_journal(const plan::Planned& planned, const Target& target);

} // namespace gpucontainer::apply
