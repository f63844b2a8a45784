// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::base {

/// Whether an errno value does not tell if a name exists: it is a fault of the machine, not a
/// missing file or a missing permission.
bool leaves_open(int os_error) noexcept;

/// Whole content of the regular file behind `fd`. Uses pread, so that a file that is truncated
/// meanwhile is an error and not SIGBUS. Fails with EFBIG above `limit` bytes.
Result<std::string> read_all(int fd, std::size_t limit);

/// Opens and reads `path`, relative to `dir_fd`. Never blocks on a FIFO. Also reads files of
/// procfs and sysfs, which report no size.
Result<std::string> read_file(int dir_fd, const std::string& path, std::size_t limit = 1U << 20U);
Result<std::string> read_file(const std::string& path, std::size_t limit = 1U << 20U);

/// Target of the symbolic link at `path`. If `path` is empty: of the link that `dir_fd` refers to
/// (O_PATH).
Result<std::string> read_link(int dir_fd, const std::string& path);

/// Calls `visit` for each name in a directory except "." and "..", in no order. More than
/// `limit` names are an error.
Result<void> visit_directory(int dir_fd, const std::string& path, std::size_t limit,
                             const std::function<void(std::string_view)>& visit);

/// Names in a directory except "." and "..", sorted. More than `limit` names are an error.
Result<std::vector<std::string>> list_directory(int dir_fd, const std::string& path,
                                                std::size_t limit = 100'000);

} // namespace gpucontainer::base
