// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpuctr_cli {

/// A setuid program, or one with file capabilities, works as who started it.
void give_up_raised_privileges();

/// Drops what the command does not need from here on: `phases` is of GPUCTR_PHASE_*.
/// To be called before the root file system is opened, and again where joining a
/// user namespace brought capabilities. Throws gpucontainer::Error.
void shrink_privileges(std::uint32_t phases);

/// The same for a process that becomes CMD, which gets the capabilities that it
/// would have without this command.
void shrink_privileges_until_exec(std::uint32_t phases);

/// What else CMD must not gain, to be called once it has its namespaces.
void forbid_new_privileges(std::uint32_t phases, bool allow_setuid);

} // namespace gpuctr_cli
