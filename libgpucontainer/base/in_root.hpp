// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::base {

/// openat2 with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS: symbolic links do not lead out of
/// `root_fd`. Retries while a rename races with the lookup. Uses walk() if the kernel lacks
/// openat2 or a seccomp filter forbids it. Returns -1 and errno on failure. Allocates nothing and
/// is safe between clone and exec.
int open_in_root(int root_fd, const char* path, std::uint64_t flags,
                 std::uint32_t mode = 0) noexcept;

/// The same, but follows no link: a link on the path, or ".." out of the root, is an error.
int open_beneath(int directory, const char* path, std::uint64_t flags) noexcept;

/// Like open_in_root(), with a Result whose error names `path`.
Result<UniqueFd> open_below(int root_fd, const std::string& path, std::uint64_t flags);

/// Opens the root of the topmost mount on `directory`, or `directory` itself, with O_PATH. No path
/// is looked up. Fails with ENOSYS or EPERM without openat2.
int open_uppermost(int directory) noexcept;

/// Path of an open file, from /proc. The file need not be readable.
Result<std::string> path_of(int fd);

} // namespace gpucontainer::base
