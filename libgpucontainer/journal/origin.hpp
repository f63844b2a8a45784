// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "mount/namespace.hpp"
#include "mount/table.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::journal {

/// Given out by the kernel for the time of a mount.
bool is_anonymous(std::uint64_t device) noexcept;

/// A root directory, as any process knows it again. Device and inode alone are
/// given anew to another directory once this one is gone.
struct RootId {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t birth_ns = 0; ///< When it was created; 0 where the kernel does not tell.
    /// Of btrfs: a snapshot has inode and birth in common with what it was made of.
    std::uint64_t subvolume = 0;
    /// On a device whose number is another one, or another file system's, once it was
    /// mounted anew, with all that was written there: btrfs, overlay, FUSE, NFS.
    bool renumbered = false;

    static Result<RootId> of(int rootfs_fd);

    /// False when it certainly is another directory.
    bool may_be(const RootId& other) const noexcept
    {
        const bool same_age = birth_ns == 0 || other.birth_ns == 0 || birth_ns == other.birth_ns;
        const bool same_volume =
            subvolume == 0 || other.subvolume == 0 || subvolume == other.subvolume;
        return device == other.device && inode == other.inode && same_age && same_volume;
    }
};

/// A mount namespace of one boot. Mounts have no meaning in another one; the
/// files in a root have.
struct Viewpoint {
    std::uint64_t mount_namespace = 0;
    std::string boot_id;

    static Result<Viewpoint> current();
};

/// What tells one set-up of a root directory from the others.
struct SetUpKey {
    Viewpoint from;
    std::uint64_t mount_id = 0; ///< Of the mount that the root is seen on.
    std::int64_t root_birth_ns = 0;
};

/// How a set-up relates to whoever looks at it.
enum class Origin : std::uint8_t {
    here,          ///< Of this namespace, on the mount that is looked at or one that is gone.
    earlier_boot,  ///< Its mounts are gone.
    namespace_end, ///< Same: no process is left in its namespace.
    another_mount, ///< Of this namespace, where the directory is seen a second time.
    elsewhere,     ///< Of another namespace that lives.
};

/// `rootfs_fd` may be -1 for a root that cannot be reached; `table` is the mount
/// table of this namespace.
Result<Origin> origin_of(const SetUpKey& key, const Viewpoint& here,
                         mount::LivingNamespaces& living, int rootfs_fd,
                         int table = mount::own_table);

/// Whether `rootfs_fd` is on the mount of that identity; an error when the kernel,
/// though able to tell, did not.
Result<bool> is_seen_on(int rootfs_fd, std::uint64_t mount_id);

/// May be undone from here: nobody else relies on it.
inline bool is_ours(Origin origin) noexcept
{
    return origin != Origin::another_mount && origin != Origin::elsewhere;
}

} // namespace gpucontainer::journal
