// SPDX-License-Identifier: MIT
#include "base/lazy_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

constexpr std::size_t page_size = 4096;

std::size_t pages_of(std::size_t size) { return (size + page_size - 1) / page_size; }

} // namespace

LazyFile::LazyFile(const std::string& content)
    : size_(content.size()), bytes_(new char[content.size()]), pages_(pages_of(size_), true)
{
    std::memcpy(bytes_.get(), content.data(), size_);
}

LazyFile::LazyFile(UniqueFd fd, std::size_t size)
    : fd_(std::move(fd)), size_(size), bytes_(new char[size]), pages_(pages_of(size))
{
}

Result<LazyFile> LazyFile::open(UniqueFd fd, std::size_t limit)
{
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, "read");
    if (!S_ISREG(status.st_mode))
        return Error::from_errno(EINVAL, "read");
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > limit)
        return Error::from_errno(EFBIG, "read");
    return LazyFile(std::move(fd), size);
}

std::string_view LazyFile::view(std::size_t offset, std::size_t size) const
{
    if (offset >= size_)
        return {};
    size = std::min(size, size_ - offset);
    const std::size_t end = pages_of(offset + size);
    for (std::size_t page = offset / page_size; page < end; ++page) {
        if (pages_[page])
            continue;
        std::size_t last = page + 1;
        while (last < end && !pages_[last])
            ++last;
        read(page, last);
        page = last - 1;
    }
    return {bytes_.get() + offset, size};
}

void LazyFile::read(std::size_t first_page, std::size_t end_page) const
{
    std::size_t at = first_page * page_size;
    const std::size_t end = std::min(end_page * page_size, size_);
    while (at < end) {
        const ssize_t got = ::pread(fd_.get(), bytes_.get() + at, end - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            read_error_ = errno;
        if (got <= 0)
            break;
        at += static_cast<std::size_t>(got);
    }
    std::memset(bytes_.get() + at, 0, end - at);
    std::fill(pages_.begin() + static_cast<std::ptrdiff_t>(first_page),
              pages_.begin() + static_cast<std::ptrdiff_t>(end_page), true);
}

} // namespace gpucontainer::base
