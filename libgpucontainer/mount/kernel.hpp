// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string_view>

namespace gpucontainer::mount {

/// Number of the system call of Linux 6.15 on all architectures. The C libraries that we use do not
/// have it.
inline constexpr long open_tree_attr_number = 467;

/// How a tree of mounts is built. One is chosen; they are never mixed.
enum class Backend : std::uint8_t {
    detached,  ///< Linux 6.15: mounts are attached to mounts that are attached nowhere.
    assembled, ///< Linux 5.12: built in a separate namespace, and cloned from there.
    legacy,    ///< Any kernel: built with mount(2) at a hidden place, and moved.
};
inline constexpr Backend last_backend = Backend::legacy;
std::string_view name(Backend backend);

/// Whether the running kernel says that it has that version or a newer one.
bool is_kernel_at_least(unsigned major, unsigned minor) noexcept;

/// The best backend of the running kernel. The system calls are tried, because a container's
/// seccomp filter may hide them on any kernel. Calls that a distribution backported to an older
/// kernel are not used.
Backend probe_backend();

/// `wanted`, if the kernel has it.
Result<Backend> require_backend(Backend wanted);

} // namespace gpucontainer::mount
