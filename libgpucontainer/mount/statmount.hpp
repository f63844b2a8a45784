// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>

/// The calls of Linux 6.8 that tell about mounts by their identity. The C library of Debian 12 does
/// not have them.
namespace gpucontainer::mount {

struct MountIdRequest {
    std::uint32_t size = 24;
    std::uint32_t spare = 0;
    std::uint64_t mount_id = 0;
    std::uint64_t parameter = 0;
    std::uint64_t mount_namespace = 0; ///< Only read with the larger size.
};

/// A request for all mounts of a namespace, Linux 6.11.
inline MountIdRequest of_namespace(std::uint64_t id) noexcept
{
    MountIdRequest request;
    request.size = 32;
    request.mount_id = ~std::uint64_t{0}; // LSMT_ROOT
    request.mount_namespace = id;
    return request;
}

/// Whether an identity is never reused. Smaller ones are those of the mount table, which are
/// reused.
inline bool is_unique(std::uint64_t mount_id) noexcept { return mount_id >= 1ULL << 31U; }

inline constexpr std::uint64_t statmount_mount_basic = 0x2;
inline constexpr std::uint64_t statmount_mount_point = 0x10;

/// The parts of the kernel's struct statmount that are used here. Strings follow its fixed part.
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

/// False, with errno, if the kernel does not tell.
bool statmount(std::uint64_t mount_id, std::uint64_t mask, MountStatus& status) noexcept;

/// Whether the call exists. The kernel may be older, and a seccomp filter may hide it on any
/// kernel, although statx still tells identities.
bool has_statmount() noexcept;

/// Lists the mounts below one, at any depth, in the order of their identities, starting after
/// `parameter`. Returns how many were written to `ids`, or -1 and errno.
long listmount(const MountIdRequest& request, std::uint64_t* ids, std::size_t count) noexcept;

/// Calls `visit` with the mounts below one, at any depth, until it returns false. False then, and,
/// with errno, if the kernel fails.
template <typename Visit>
bool for_each_below(std::uint64_t mount_id, Visit visit) noexcept
{
    MountIdRequest request;
    request.mount_id = mount_id;
    std::array<std::uint64_t, 64> found = {};
    while (true) {
        const long got = listmount(request, found.data(), found.size());
        if (got < 0)
            return false;
        const std::span<const std::uint64_t> ids(found.data(), static_cast<std::size_t>(got));
        if (!std::all_of(ids.begin(), ids.end(), visit))
            return false;
        if (ids.size() < found.size())
            return true;
        request.parameter = found.back(); // continue after this one
    }
}

/// Identity of the mount that `fd` is on; false before Linux 6.8.
bool unique_id(int fd, std::uint64_t& id) noexcept;

/// The same, as in the mount table.
bool table_id(int fd, std::uint64_t& id) noexcept;

} // namespace gpucontainer::mount
