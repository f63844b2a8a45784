// SPDX-License-Identifier: MIT
#include "mount/table_text.hpp"

#include <cerrno>
#include <utility>

namespace gpucontainer::mount {

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
        memory_.swap(before.memory_);
        std::swap(size_, before.size_);
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
        if (size_ == memory_.size() && !memory_.grow())
            return false;
        const ssize_t got = source.read(data() + size_, memory_.size() - size_);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        size_ += static_cast<std::size_t>(got);
    }
}

} // namespace gpucontainer::mount
