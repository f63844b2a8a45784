// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucontainer::image {

/// A part of a file.
struct Extent {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// A file of which many small pieces are read, most of them close to the one before.
class FileWindow {
public:
    /// `fd` is borrowed.
    explicit FileWindow(int fd) noexcept : fd_(fd) {}

    /// Fills `bytes`. Errors: EBADMSG, if the file ends before; EIO.
    Result<void> read(std::uint64_t offset, std::span<char> bytes);

private:
    Result<std::size_t> fill(std::uint64_t offset, std::span<char> bytes) const;

    int fd_;
    std::array<char, std::size_t{16} << 10U> bytes_ = {};
    std::uint64_t offset_ = 0; ///< Of these in the file.
    std::size_t size_ = 0;
};

} // namespace gpucontainer::image
