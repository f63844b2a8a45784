// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

/// What Linux 6.8 tells about mounts by their identity; the C library of Debian 12
/// knows none of it.
namespace gpucontainer::mount {

struct MountIdRequest {
    std::uint32_t size = 24;
    std::uint32_t spare = 0;
    std::uint64_t mount_id = 0;
    std::uint64_t parameter = 0;
};

inline constexpr std::uint64_t statmount_mount_basic = 0x2;
inline constexpr std::uint64_t statmount_mount_point = 0x10;

/// The kernel's struct statmount as far as it is asked for here; strings follow
/// its fixed part.
struct MountStatus {
    std::uint32_t size;
    std::uint32_t options;
    std::uint64_t mask;
    std::uint32_t sb_dev_major;
    std::uint32_t sb_dev_minor;
    std::uint64_t sb_magic;
    std::uint32_t sb_flags;
    std::uint32_t fs_type;
    std::uint64_t mount_id;
    std::uint64_t parent_id;
    std::uint32_t old_mount_id;
    std::uint32_t old_parent_id;
    std::uint64_t attributes;
    std::uint64_t propagation;
    std::uint64_t peer_group;
    std::uint64_t master;
    std::uint64_t propagate_from;
    std::uint32_t mount_root; ///< Offsets of strings.
    std::uint32_t mount_point;
    std::array<std::uint64_t, 50> unused;
    std::array<char, PATH_MAX> strings;

    const char* text(std::uint32_t offset) const noexcept { return strings.data() + offset; }
};
static_assert(offsetof(MountStatus, strings) == 512);

/// False, with errno, when the kernel does not tell.
bool statmount(std::uint64_t mount_id, std::uint64_t mask, MountStatus& status) noexcept;

/// Mounts below one, in the order of their identities, from behind `parameter` on:
/// how many were written to `ids`, or -1 and errno.
long listmount(const MountIdRequest& request, std::uint64_t* ids, std::size_t count) noexcept;

/// Identity of the mount that `fd` is on; false before Linux 6.8.
bool unique_id(int fd, std::uint64_t& id) noexcept;

} // namespace gpucontainer::mount
