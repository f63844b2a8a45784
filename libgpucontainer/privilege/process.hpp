// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "syscall/process.hpp"

#include <cstdint>

namespace gpucontainer::privilege {

/// What a process is still going to do, a bit each.
inline constexpr std::uint32_t look = 1U << 0U;       ///< At the host, and at a root.
inline constexpr std::uint32_t status = 1U << 1U;     ///< At set-ups.
inline constexpr std::uint32_t mounts = 1U << 2U;     ///< Prepare, stage and attach.
inline constexpr std::uint32_t apply = 1U << 3U;      ///< With a journal, and undo.
inline constexpr std::uint32_t in_process = 1U << 4U; ///< In a container that runs.
inline constexpr std::uint32_t all_phases = (1U << 5U) - 1;

/// The capabilities that the phases need, a bit each.
std::uint64_t capabilities_for(std::uint32_t phases);

struct Hardening {
    std::uint64_t capabilities = 0; ///< Those that stay.
    bool for_exec = false;          ///< Only what counts until exec is dropped.
    bool new_privileges = false;    ///< exec may still raise them.
    bool dumpable = false;          ///< May still be traced, and leave a core.
};

/// Takes from the calling thread, and those that it starts, what it does not need.
Result<void> harden(const Hardening& wanted);

/// True in a program that was started with more privileges than its caller had:
/// setuid, setgid, or with file capabilities. Safe between clone and exec.
using syscall::is_raised;

/// Refuses to work for a program with raised privileges, unless it said that it
/// is made for that. Errors: permission.
Result<void> refuse_raised(bool made_for_it);

} // namespace gpucontainer::privilege
