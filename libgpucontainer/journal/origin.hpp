// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "mount/namespace.hpp"
#include "mount/table.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::journal {

/// Device numbers that the kernel assigns anew for each mount.
bool is_anonymous(std::uint64_t device) noexcept;

/// Identity of a root directory for any process. Device and inode are not enough: they are reused
/// when the directory is gone.
struct RootId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t birth_ns = 0; ///< When it was created; 0 if unknown.
    /// For btrfs: a snapshot has the inode and birth time of its origin.
    std::uint64_t subvolume = 0;
    /// Whether the device gets another number each time it is mounted, although its content lasts:
    /// btrfs, overlay, FUSE, NFS.
    bool renumbered = false;

    static Result<RootId> of(int rootfs_fd);

    /// False if it certainly is another directory.
    bool may_be(const RootId& other) const noexcept
    {
        const bool same_age = birth_ns == 0 || other.birth_ns == 0 || birth_ns == other.birth_ns;
        const bool same_volume =
            subvolume == 0 || other.subvolume == 0 || subvolume == other.subvolume;
        return device == other.device && inode == other.inode && same_age && same_volume;
    }
};

/// A mount namespace of one boot. Mounts of a set-up exist only there; files in a root outlast it.
struct Viewpoint {
    std::uint64_t mount_namespace = 0;
    std::string boot_id;

    static Result<Viewpoint> current();
};

/// Distinguishes the set-ups of a root directory.
struct SetUpKey {
    Viewpoint from;
    std::uint64_t mount_id = 0; ///< Of the mount of the root.
    std::int64_t root_birth_ns = 0;
};

/// Where a set-up was made, relative to the caller.
enum class Origin : std::uint8_t {
    here,          ///< In this namespace, on the same mount or one that is gone.
    earlier_boot,  ///< Before a reboot: its mounts are gone.
    namespace_end, ///< Its namespace has ended: its mounts are gone.
    another_mount, ///< In this namespace, on another mount of the same directory.
    elsewhere,     ///< In another namespace that still exists.
};

/// `rootfs_fd` may be -1 for a root that cannot be reached. `table` is the mount table of this
/// namespace.
Result<Origin> origin_of(const SetUpKey& key, const Viewpoint& here,
                         mount::LivingNamespaces& living, int rootfs_fd,
                         int table = mount::own_table);

/// Whether `rootfs_fd` is on the mount with that id. An error if the kernel has such ids but the
/// query failed.
Result<bool> is_seen_on(int rootfs_fd, std::uint64_t mount_id);

/// Whether it may be undone from here, because nobody else relies on it.
inline bool is_ours(Origin origin) noexcept
{
    return origin != Origin::another_mount && origin != Origin::elsewhere;
}

} // namespace gpucontainer::journal
