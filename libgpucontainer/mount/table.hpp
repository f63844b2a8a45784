// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Which mounts lie on a mount. Without allocating, but where it is said, and for counting.
namespace gpucontainer::mount {

/// A descriptor of a mountinfo file, or this one: /proc/self/mountinfo, which shows
/// what is reached from the thread's root directory.
inline constexpr int own_table = -1;

/// What the mount table says that a file system of ours is of.
inline constexpr const char* mount_source = "gpuctr";

class MountVisitor {
public:
    /// Path of a mount as the process, or the table, sees it. False, with errno,
    /// ends the listing.
    virtual bool visit(const char* path) noexcept = 0;

protected:
    MountVisitor() = default;
    MountVisitor(const MountVisitor&) = default;
    MountVisitor& operator=(const MountVisitor&) = default;
    ~MountVisitor() = default;
};

enum class Listing : std::uint8_t {
    complete,
    failed,      ///< errno says why; EXDEV: not reached from the root directory.
    unavailable, ///< The kernel has no such call, or a filter forbids it.
};

/// Tells the mounts whose parent is the mount of `fd`, by the kernel's listmount
/// (Linux 6.8).
Listing list_children(int fd, MountVisitor& visitor) noexcept;

/// Same by a mount table, whose cost is that of all mounts. Needs /proc.
Listing read_children(int fd, MountVisitor& visitor, int table = own_table) noexcept;

/// The mounts below the mount of `fd`, at any depth.
struct Below {
    int count = -1;           ///< -1, with errno: nothing tells; EXDEV: as it is not reached.
    std::uint64_t newest = 0; ///< The greatest of the identities that are never reused.
};
/// By the kernel's listmount alone.
Below list_below(int fd) noexcept;
/// By a mount table where that is not to be had.
Below look_below(int fd, int table = own_table) noexcept;
inline int count_below(int fd) noexcept { return look_below(fd).count; }
int count_below_by_table(int fd, int table = own_table) noexcept;

/// Paths, as the own table has them, of the mounts of ours below the mount of `fd`, at any
/// depth. False with errno. Allocates.
bool list_ours_below(int fd, std::vector<std::string>& paths);

enum class Found : std::uint8_t { unknown, no, yes };
struct Lookup {
    Found found = Found::unknown;
    bool shared = false; ///< With the mounts of other namespaces.
    bool ours = false;   ///< Its source has the name that this library gives its mounts.
};

/// Whether a mount's path in the table is where the kernel says that `fd`, which is
/// on it, is: for kernels before Linux 5.8. Unknown with errno.
Found find_mount_root_by_table(int fd) noexcept;

/// A mount by the identity that tables have.
Lookup look_up(std::uint64_t table_id, int table) noexcept;

} // namespace gpucontainer::mount
