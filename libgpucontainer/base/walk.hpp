// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// Path resolution for kernels without openat2 (before Linux 5.6) and for processes
/// whose seccomp filter forbids it: one component at a time, none of which the kernel
/// may follow. As free of allocation as the call that it stands for.
namespace gpucontainer::base {

enum class Links : std::uint8_t {
    in_root, ///< Followed, an absolute one from the root, at most forty.
    refused, ///< ELOOP; a ".." is EXDEV.
};

/// What openat2 does with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, or, with links
/// refused, with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. A ".." leads to the directory
/// that was come from, wherever that was moved meanwhile, and never above `root_fd`.
/// Of procfs no link is followed, magic or not. A path may lead 256 directories deep.
int walk(int root_fd, const char* path, std::uint64_t flags, std::uint32_t mode,
         Links links) noexcept;

} // namespace gpucontainer::base
