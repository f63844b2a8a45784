// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

namespace gpucontainer::mount {

/// Memory that grows. It comes directly from the kernel, so it is safe between clone and exec of a
/// threaded process, unlike malloc().
class MappedMemory {
public:
    MappedMemory() noexcept = default;
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;
    ~MappedMemory();

    /// Doubles it, beginning with 64 KiB, and keeps its content; false with errno.
    bool grow() noexcept;
    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

    void swap(MappedMemory& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace gpucontainer::mount
