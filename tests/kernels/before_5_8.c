/* SPDX-License-Identifier: MIT */

/* statx() as kernels before Linux 5.8 have it, which tells neither the number of a
 * mount nor whether a file is the root of one. Part of a program, it is that of the
 * program's libraries too. */

#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNT_NUMBERS (STATX_MNT_ID | 0x4000U) /* STATX_MNT_ID_UNIQUE, Linux 6.8 */
#define MOUNT_ROOT ((unsigned long long)STATX_ATTR_MOUNT_ROOT)

__attribute__((visibility("default"))) int statx(int fd, const char* restrict path, int flags,
                                                 unsigned mask, struct statx* restrict status)
{
    long result = syscall(SYS_statx, fd, path, flags, mask & ~MOUNT_NUMBERS, status);
    if (result == 0) {
        status->stx_mask &= ~MOUNT_NUMBERS;
        status->stx_mnt_id = 0;
        status->stx_attributes_mask &= ~MOUNT_ROOT;
        status->stx_attributes &= ~MOUNT_ROOT;
    }
    return (int)result;
}
