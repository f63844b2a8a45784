// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"

#include <cstdint>

namespace gpucontainer::mount {

/// How the mounts of a backend are made, and what they can do. The contracts of the calls are in
/// mount/calls.hpp.
struct Way {
    /// A new mount is attached nowhere, and another process can attach it. Otherwise it is on the
    /// scratch directory.
    bool detached;
    bool takes_mounts; ///< Others can be attached below it before it is attached itself.
    bool sets_below;   ///< Attributes can be set for the mounts below, too.
    bool locks;        ///< Its flags can be locked (mount/lock.hpp).
    bool from_copy;    ///< It can be made in a copy of the mount namespace (mount/aside.hpp).

    int (*clone_tree)(const Bench&, int dir_fd, const char* path, bool recursive) noexcept;
    int (*clone_private)(const Bench&, int fd) noexcept;
    int (*attach)(int tree_fd, int target_fd) noexcept;
    int (*attach_below)(int tree_fd, int base_fd, const char* path) noexcept;
    int (*bind_below)(int source_fd, int base_fd, const char* path) noexcept;
    int (*set_attributes)(int tree_fd, std::uint64_t attributes, std::uint64_t propagation,
                          bool recursive) noexcept;
    int (*new_tmpfs)(const Bench&, const char* label) noexcept;
    int (*new_overlay)(const Bench&, int upper_fd, int lower_fd, std::uint64_t attributes,
                       const char* label) noexcept;
};

} // namespace gpucontainer::mount
