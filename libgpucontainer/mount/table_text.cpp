// SPDX-License-Identifier: MIT
#include "mount/table_text.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <utility>

namespace gpucontainer::mount {

TableText::~TableText()
{
    if (data_ != nullptr)
        (void)::munmap(data_, capacity_);
}

bool TableText::take(TableSource& source) noexcept
{
    constexpr int most = 64;
    TableText before;
    if (!before.read(source))
        return false;
    for (int tries = 0; tries < most; ++tries) {
        if (!read(source))
            return false;
        if (view() == before.view())
            return true;
        swap(before);
    }
    errno = EAGAIN;
    return false;
}

bool TableText::read(TableSource& source) noexcept
{
    size_ = 0;
    if (!source.rewind())
        return false;
    while (true) {
        if (size_ == capacity_ && !grow())
            return false;
        const ssize_t got = source.read(data_ + size_, capacity_ - size_);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        size_ += static_cast<std::size_t>(got);
    }
}

bool TableText::grow() noexcept
{
    constexpr std::size_t first = std::size_t{1} << 16U;
    const std::size_t wanted = capacity_ == 0 ? first : 2 * capacity_;
    void* const grown = data_ == nullptr ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                         : ::mremap(data_, capacity_, wanted, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return false;
    data_ = static_cast<char*>(grown);
    capacity_ = wanted;
    return true;
}

void TableText::swap(TableText& other) noexcept
{
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
}

} // namespace gpucontainer::mount
