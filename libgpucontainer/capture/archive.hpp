// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace gpucontainer::capture {

/// Writes regular files as a tar archive in the POSIX form (ustar), which every tar reads. Members
/// have no owner and no time, so that they tell nothing of the host. One writer suffices: what a
/// library for archives does besides, such as other forms and compression, is not needed here.
class Archive {
public:
    /// `fd` is borrowed, and written from where it is.
    explicit Archive(int fd) noexcept : fd_(fd) {}

    /// Whether the form has room for this relative path: 100 bytes, or some 250 in directories.
    static bool has_room_for(std::string_view name) noexcept;

    /// There is room for `name`. Errors: requirement, if the archive would become too large; those
    /// of writing.
    Result<void> add(std::string_view name, std::string_view content);

    /// Ends the archive. Errors: those of writing.
    Result<void> finish();

private:
    Result<void> write(std::string_view bytes);

    int fd_;
    std::size_t size_ = 0;
};

} // namespace gpucontainer::capture
