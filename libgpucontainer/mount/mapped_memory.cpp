// SPDX-License-Identifier: MIT
#include "mount/mapped_memory.hpp"

#include <sys/mman.h>

namespace gpucontainer::mount {

MappedMemory::~MappedMemory()
{
    if (data_ != nullptr)
        (void)::munmap(data_, size_);
}

bool MappedMemory::grow() noexcept
{
    constexpr std::size_t first = std::size_t{1} << 16U;
    const std::size_t wanted = size_ == 0 ? first : 2 * size_;
    void* const grown = data_ == nullptr ? ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                         : ::mremap(data_, size_, wanted, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return false;
    data_ = grown;
    size_ = wanted;
    return true;
}

} // namespace gpucontainer::mount
