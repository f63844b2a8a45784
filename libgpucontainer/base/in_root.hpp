// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::base {

/// openat2 with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS: links are followed
/// inside `root_fd` only. Retries while a rename races with the lookup. Where there is
/// no openat2, or a seccomp filter forbids it, walk() in its place. Returns -1 and
/// errno; allocates nothing and is safe between clone and exec.
int open_in_root(int root_fd, const char* path, std::uint64_t flags,
                 std::uint32_t mode = 0) noexcept;

/// Same without following any link: a path that a link is on, or that leads out by
/// "..", is an error.
int open_beneath(int directory, const char* path, std::uint64_t flags) noexcept;

/// As open_in_root(), as a Result whose error names `path`.
Result<UniqueFd> open_below(int root_fd, const std::string& path, std::uint64_t flags);

/// By O_PATH, the root of the mount that lies uppermost over `directory`, or that itself:
/// whatever path leads there. ENOSYS or EPERM where there is no openat2.
int open_uppermost(int directory) noexcept;

/// Path that the kernel knows an open file by; the file need not be readable.
Result<std::string> path_of(int fd);

} // namespace gpucontainer::base
