// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace gpucontainer::mount {

/// The system call of Linux 6.15, which no C library of ours knows; on all architectures.
inline constexpr long open_tree_attr_number = 467;

/// How a tree of mounts is built; one is chosen and never mixed.
enum class Backend : std::uint8_t {
    detached,  ///< Linux 6.15: mounts are put onto mounts that are attached nowhere.
    assembled, ///< Linux 5.12: put together in a namespace of its own and cloned out of it.
    legacy,    ///< Any kernel: built with mount(2) where nothing else looks, and moved.
};
inline constexpr Backend last_backend = Backend::legacy;
std::string_view name(Backend backend);

/// Whether the running kernel says that it is of that version.
bool is_kernel_at_least(unsigned major, unsigned minor) noexcept;

/// The best backend of the running kernel. Asks the system calls themselves, as
/// a container's seccomp filter may hide them on any kernel; those of before their
/// time, in a distribution's kernel, are not used.
Backend probe_backend();

/// `wanted` when the kernel has it.
Result<Backend> require_backend(Backend wanted);

} // namespace gpucontainer::mount
