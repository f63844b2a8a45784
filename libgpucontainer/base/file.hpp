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

/// Whether an errno value leaves open what a name leads to: it tells something of the
/// machine, and not that nothing is there, or nothing that this process may have.
bool leaves_open(int os_error) noexcept;

/// Whole content of the regular file behind `fd`, read with pread so that a
/// file cut short meanwhile is an error and not a signal. Fails with EFBIG
/// above `limit` bytes.
Result<std::string> read_all(int fd, std::size_t limit);

/// Opens and reads `path`, relative to `dir_fd`; never blocks on a FIFO and
/// reads from procfs and sysfs too, whose files report no size.
Result<std::string> read_file(int dir_fd, const std::string& path, std::size_t limit = 1U << 20U);
Result<std::string> read_file(const std::string& path, std::size_t limit = 1U << 20U);

/// Text of the symbolic link at `path`; with an empty path, of the one that
/// `dir_fd` was opened at by O_PATH.
Result<std::string> read_link(int dir_fd, const std::string& path);

/// Calls `visit` for each name in a directory but "." and "..", in no order. More
/// than `limit` of them are an error.
Result<void> visit_directory(int dir_fd, const std::string& path, std::size_t limit,
                             const std::function<void(std::string_view)>& visit);

/// Names in a directory without "." and "..", sorted; at most `limit` of them,
/// else an error.
Result<std::vector<std::string>> list_directory(int dir_fd, const std::string& path,
                                                std::size_t limit = 100'000);

} // namespace gpucontainer::base
