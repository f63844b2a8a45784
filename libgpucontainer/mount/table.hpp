// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// Which mounts lie on a mount, without allocating.
namespace gpucontainer::mount {

class MountVisitor {
public:
    /// Path of a mount as the process sees it. False, with errno, ends the listing.
    virtual bool visit(const char* path) noexcept = 0;

protected:
    MountVisitor() = default;
    MountVisitor(const MountVisitor&) = default;
    MountVisitor& operator=(const MountVisitor&) = default;
    ~MountVisitor() = default;
};

enum class Listing : std::uint8_t {
    complete,
    failed,      ///< errno says why.
    unavailable, ///< The kernel has no such call, or a filter forbids it.
};

/// Tells the mounts whose parent is the mount of `fd`, by the kernel's listmount
/// (Linux 6.8).
Listing list_children(int fd, MountVisitor& visitor) noexcept;

/// Same by the mount table, whose cost is that of all mounts. Needs /proc.
Listing read_children(int fd, MountVisitor& visitor) noexcept;

} // namespace gpucontainer::mount
