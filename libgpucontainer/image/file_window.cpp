// SPDX-License-Identifier: MIT
#include "image/file_window.hpp"

#include "base/try.hpp"
#include "image/file_system.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace gpucontainer::image {

/// Reads as many as there are.
Result<std::size_t> FileWindow::fill(std::uint64_t offset, std::span<char> bytes) const
{
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::pread(fd_, bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_of(EIO);
        if (got == 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

Result<void> FileWindow::read(std::uint64_t offset, std::span<char> bytes)
{
    const bool is_large = bytes.size() > bytes_.size();
    if (is_large) {
        GPUCTR_TRY(const std::size_t got, fill(offset, bytes));
        return got == bytes.size() ? Result<void>() : error_of(EBADMSG);
    }
    const bool is_here = offset >= offset_ && offset - offset_ <= size_
                         && bytes.size() <= size_ - (offset - offset_);
    if (!is_here) {
        size_ = 0;
        GPUCTR_TRY(size_, fill(offset, bytes_));
        offset_ = offset;
    }
    if (bytes.size() > size_ - (offset - offset_))
        return error_of(EBADMSG);
    std::memcpy(bytes.data(), bytes_.data() + (offset - offset_), bytes.size());
    return {};
}

} // namespace gpucontainer::image
