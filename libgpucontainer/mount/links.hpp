// SPDX-License-Identifier: MIT
#pragma once

#include "mount/mapped_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucontainer::mount {

/// Which mount lies on which, of a whole mount table. Allocates as MappedMemory does.
class Links {
public:
    /// False with errno.
    bool add(std::uint64_t parent, std::uint64_t id) noexcept;

    /// The mounts on one, and those on them, each once and in ascending order; without the one
    /// itself. False with errno. A mount that was moved may be added before the one that it
    /// lies on; a table of such lines does not take the square of its length.
    bool find_below(std::uint64_t id) noexcept;
    std::span<const std::uint64_t> below() const noexcept;

private:
    struct Link {
        std::uint64_t parent;
        std::uint64_t id;
    };

    std::span<Link> links() const noexcept;
    bool note(std::uint64_t id) noexcept;

    MappedMemory link_memory_;
    std::size_t link_count_ = 0;
    MappedMemory below_memory_;
    std::size_t below_count_ = 0;
};

} // namespace gpucontainer::mount
