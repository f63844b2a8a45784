// SPDX-License-Identifier: MIT
#include "base/kernel_file_system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace gpucontainer::base {

bool is_on_kernel_file_system(int fd) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return true;
    errno = 0;
    // statfs() of such a file system has no blocks and no files (simple_statfs in the kernel), with
    // two exceptions.
    constexpr std::array<long, 2> counting = {HUGETLBFS_MAGIC, EFIVARFS_MAGIC};
    // These have real files, but may report neither number.
    constexpr std::array<long, 5> of_files = {TMPFS_MAGIC, RAMFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                              FUSE_SUPER_MAGIC, V9FS_MAGIC};
    const auto is_any = [&](const auto& types) {
        return std::ranges::find(types, status.f_type) != types.end();
    };
    return is_any(counting) || (status.f_blocks == 0 && status.f_files == 0 && !is_any(of_files));
}

bool is_on_procfs(int fd) noexcept
{
    struct statfs status = {};
    return ::fstatfs(fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

} // namespace gpucontainer::base
