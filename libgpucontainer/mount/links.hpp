// SPDX-License-Identifier: MIT
#pragma once

#include "mount/mapped_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucontainer::mount {

/// The parents of all mounts in a mount table. Its memory is MappedMemory.
class Links {
public:
    /// False with errno.
    bool add(std::uint64_t parent, std::uint64_t id) noexcept;

    /// Finds the mounts below one, at any depth, each once and in ascending order, without that one
    /// itself. False with errno. A moved mount may have been added before its parent; the time of
    /// many such lines does not grow with their square.
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
