// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpuctr_cli {

/// If this program is setuid, setgid or has file capabilities: continues as the user who
/// started it. Throws gpucontainer::Error.
void give_up_raised_privileges();

/// Drops privileges that `phases` of GPUCTR_PHASE_* do not need. Call it before the root file
/// system is opened, and again after joining a user namespace, which brings capabilities. Throws
/// gpucontainer::Error.
void shrink_privileges(std::uint32_t phases);

/// The same for a process that becomes CMD. CMD gets the capabilities that it would have
/// without this command.
void shrink_privileges_until_exec(std::uint32_t phases);

/// Keeps CMD from gaining privileges. Call it once CMD has its namespaces.
void forbid_new_privileges(std::uint32_t phases, bool allow_setuid);

} // namespace gpuctr_cli
