// SPDX-License-Identifier: MIT
// What is asked of mounts where statx() tells neither their number nor their root, as
// before Linux 5.8: that of this program leaves it out.
#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "syscall/mount_number.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's
extern "C" int statx(int directory, const char* path, int flags, unsigned mask,
                     struct statx* status) noexcept
{
    const long result = ::syscall(SYS_statx, directory, path, flags, mask, status);
    status->stx_mask &= STATX_BASIC_STATS | STATX_BTIME;
    status->stx_attributes_mask &= ~std::uint64_t{STATX_ATTR_MOUNT_ROOT};
    status->stx_attributes &= ~std::uint64_t{STATX_ATTR_MOUNT_ROOT};
    status->stx_mnt_id = 0;
    return static_cast<int>(result);
}

namespace gpucontainer::mount {
namespace {

base::UniqueFd open_path(const char* path)
{
    return base::UniqueFd(::open(path, O_PATH | O_CLOEXEC));
}

TEST(OldKernel, TellsTheNumberOfAMountWithoutAnError)
{
    std::uint64_t root = 0;
    std::uint64_t proc = 0;
    errno = 0;
    ASSERT_TRUE(syscall::mount_number(open_path("/").get(), root));
    ASSERT_TRUE(syscall::mount_number(open_path("/proc").get(), proc));
    EXPECT_EQ(errno, 0);
    EXPECT_NE(root, proc);
}

TEST(OldKernel, TellsWhatIsTheRootOfAMountAndWhatIsNot)
{
    EXPECT_EQ(find_mount_root(open_path("/proc").get()), Found::yes);
    EXPECT_EQ(find_mount_root(open_path("/proc/sys/kernel").get()), Found::no);
    EXPECT_EQ(find_mount_root(-1), Found::unknown);
}

} // namespace
} // namespace gpucontainer::mount
