// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "syscall/process.hpp"

#include <cstdint>

namespace gpucontainer::privilege {

/// What a process is still going to do, one bit each.
inline constexpr std::uint32_t look = 1U << 0U;       ///< Detect the host and make plans.
inline constexpr std::uint32_t status = 1U << 1U;     ///< List set-ups.
inline constexpr std::uint32_t mounts = 1U << 2U;     ///< Prepare, stage and attach.
inline constexpr std::uint32_t apply = 1U << 3U;      ///< Apply and undo.
inline constexpr std::uint32_t in_process = 1U << 4U; ///< Work in a running container.
inline constexpr std::uint32_t all_phases = (1U << 5U) - 1;

/// The capabilities that the phases need, one bit each.
std::uint64_t capabilities_for(std::uint32_t phases);

struct Hardening {
    std::uint64_t capabilities = 0; ///< Capabilities to keep.
    bool for_exec = false;          ///< Drop only effective capabilities.
    bool new_privileges = false;    ///< Do not set no_new_privs.
    bool dumpable = false;          ///< Keep the process dumpable.
};

/// Drops the privileges that the calling thread, and threads that it starts, do not need.
Result<void> harden(const Hardening& wanted);

/// Whether this program has more privileges than its caller: it is setuid, setgid or has file
/// capabilities. Safe between clone and exec.
using syscall::is_raised;

/// Refuses a program with raised privileges, unless the caller says that it is made for this.
/// Errors: permission.
Result<void> refuse_raised(bool made_for_it);

} // namespace gpucontainer::privilege
