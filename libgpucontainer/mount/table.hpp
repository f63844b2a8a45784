// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Which mounts are below a mount. Nothing is allocated, except for counting and where it is
/// mentioned.
namespace gpucontainer::mount {

/// A mount table is a descriptor of a mountinfo file, or this: /proc/thread-self/mountinfo, which
/// shows what can be reached from the thread's root directory.
inline constexpr int own_table = -1;

/// The source of our file systems in the mount table.
inline constexpr const char* mount_source = "gpuctr";

class MountVisitor {
public:
    /// `path` is a mount's as the process, or the table, sees it. If this returns false, with
    /// errno, the listing ends.
    virtual bool visit(const char* path) noexcept = 0;

protected:
    MountVisitor() = default;
    MountVisitor(const MountVisitor&) = default;
    MountVisitor& operator=(const MountVisitor&) = default;
    ~MountVisitor() = default;
};

enum class Listing : std::uint8_t {
    complete,
    failed,      ///< errno says why; EXDEV: it cannot be reached from the root directory.
    unavailable, ///< The kernel has no such call, or a filter forbids it.
};

/// Lists the mounts whose parent is the mount of `fd`, by the kernel's listmount (Linux 6.8).
Listing list_children(int fd, MountVisitor& visitor) noexcept;

/// The same by a mount table. All mounts are read, which takes longer. Needs /proc.
Listing read_children(int fd, MountVisitor& visitor, int table = own_table) noexcept;

/// The mounts below the mount of `fd`, at any depth.
struct Below {
    int count = -1;           ///< -1, with errno: unknown; EXDEV: it cannot be reached.
    std::uint64_t newest = 0; ///< The greatest of the identities that are never reused.
};
/// Only by the kernel's listmount.
Below list_below(int fd) noexcept;
/// By listmount, or by a mount table if there is no such call.
Below look_below(int fd, int table = own_table) noexcept;
inline int count_below(int fd) noexcept { return look_below(fd).count; }
int count_below_by_table(int fd, int table = own_table) noexcept;

/// Paths in the thread's own table of our mounts below the mount of `fd`, at any depth. False with
/// errno. Allocates.
bool list_ours_below(int fd, std::vector<std::string>& paths);

enum class Found : std::uint8_t { unknown, no, yes };
struct Lookup {
    Found found = Found::unknown;
    bool shared = false; ///< It is in a peer group.
    bool ours = false;   ///< Its source is `mount_source`.
};

/// Whether `fd` is the root of its mount: its path is that of the mount in the table. For kernels
/// before Linux 5.8. Unknown with errno.
Found find_mount_root_by_table(int fd) noexcept;

/// Looks a mount up by its identity in mount tables.
Lookup look_up(std::uint64_t table_id, int table) noexcept;

} // namespace gpucontainer::mount
