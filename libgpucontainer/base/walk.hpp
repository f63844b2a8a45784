// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// Path resolution for kernels without openat2 (before Linux 5.6) and for processes whose seccomp
/// filter forbids it. Opens one component at a time and never lets the kernel follow a link.
/// Allocates nothing.
namespace gpucontainer::base {

enum class Links : std::uint8_t {
    in_root, ///< Followed within the root, at most forty.
    refused, ///< ELOOP, and EXDEV for "..".
};

/// Like openat2 with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS; with links refused, like
/// RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. ".." goes back to the directory that the walk came
/// from, even if that was moved meanwhile, and never above `root_fd`. No link on procfs is
/// followed, magic or not. A path may lead 256 directories deep.
int walk(int root_fd, const char* path, std::uint64_t flags, std::uint32_t mode,
         Links links) noexcept;

} // namespace gpucontainer::base
