// SPDX-License-Identifier: MIT
#include "journal/file_system_id.hpp"

#include "base/unique_fd.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace gpucontainer::journal {
namespace {

constexpr unsigned word = 32;

std::uint64_t join(const std::array<std::uint32_t, 2>& words)
{
    return (static_cast<std::uint64_t>(words[0]) << word) | words[1];
}

/// struct xfs_fsop_geom_v1 of the kernel's fs/xfs/libxfs/xfs_fs.h, whose size is part of the
/// call's number.
struct XfsGeometry {
    std::array<std::uint32_t, 8> sizes;
    std::array<std::uint64_t, 4> counts;
    std::array<std::uint64_t, 2> uuid;
    std::array<std::uint32_t, 7> more;
};
static_assert(offsetof(XfsGeometry, uuid) == 64);

/// The UUID of XFS, whose statfs() has only the device number. The caller must be able to open the
/// directory.
std::uint64_t uuid_of_xfs(int fd)
{
    const base::UniqueFd directory(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    XfsGeometry geometry = {};
    // XFS_IOC_FSGEOMETRY_V1
    if (!directory || ::ioctl(directory.get(), _IOR('X', 100, XfsGeometry), &geometry) != 0)
        return 0;
    return geometry.uuid[0] ^ geometry.uuid[1];
}

/// As the kernel's huge_encode_dev(), in u64_to_fsid().
bool is_number_of_device(const std::array<std::uint32_t, 2>& words, int fd)
{
    constexpr std::uint64_t major_shift = 8;
    constexpr std::uint64_t low_minor = 0xff;
    constexpr std::uint64_t high_minor_shift = 12;
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return true;
    const std::uint64_t minor = ::minor(status.st_dev);
    const std::uint64_t encoded = (minor & low_minor)
                                  | (std::uint64_t{::major(status.st_dev)} << major_shift)
                                  | ((minor & ~low_minor) << high_minor_shift);
    return words[0] == static_cast<std::uint32_t>(encoded)
           && words[1] == static_cast<std::uint32_t>(encoded >> word);
}

} // namespace

std::uint64_t file_system_id(int fd, std::uint64_t subvolume)
{
    constexpr decltype(statfs::f_type) xfs = 0x58465342;
    struct statfs status = {};
    std::array<std::uint32_t, 2> words = {};
    static_assert(sizeof words == sizeof status.f_fsid);
    if (::fstatfs(fd, &status) != 0)
        return 0;
    if (status.f_type == xfs)
        return uuid_of_xfs(fd);
    std::memcpy(words.data(), &status.f_fsid, sizeof words);
    // btrfs mixes the subvolume in.
    if (status.f_type == BTRFS_SUPER_MAGIC) {
        words[0] ^= static_cast<std::uint32_t>(subvolume >> word);
        words[1] ^= static_cast<std::uint32_t>(subvolume);
    }
    return is_number_of_device(words, fd) ? 0 : join(words);
}

} // namespace gpucontainer::journal
