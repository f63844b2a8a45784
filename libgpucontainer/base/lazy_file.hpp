// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::base {

/// Content of a file, read in parts when they are first needed. Uses pread, so that a file that is
/// truncated meanwhile causes no SIGBUS; the missing part reads as zeros. For one thread at a
/// time.
class LazyFile {
public:
    /// Content that is already in memory.
    explicit LazyFile(const std::string& content);

    /// The regular file behind `fd`. Fails with EFBIG above `limit` bytes.
    static Result<LazyFile> open(UniqueFd fd, std::size_t limit);

    std::size_t size() const noexcept { return size_; }

    /// `size` bytes from `offset`, or as many as there are.
    std::string_view view(std::size_t offset, std::size_t size) const;

    /// errno of a part that could not be read and reads as zeros; 0 if there is none.
    int read_error() const noexcept { return read_error_; }

private:
    LazyFile(UniqueFd fd, std::size_t size);

    void read(std::size_t first_page, std::size_t end_page) const;

    UniqueFd fd_;
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;   // NOLINT(modernize-avoid-c-arrays): not cleared beforehand
    mutable std::vector<bool> pages_; ///< Which pages were read.
    mutable int read_error_ = 0;
};

} // namespace gpucontainer::base
