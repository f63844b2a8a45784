// SPDX-License-Identifier: MIT
#include "runtime/mount_number.hpp"

#include "output/format.hpp"

#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace gpuctr_setup {

std::uint64_t mount_number(const Fd& fd)
{
    struct statx status = {};
    if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &status) == 0
        && (status.stx_mask & STATX_MNT_ID) != 0)
        return status.stx_mnt_id;
    std::ifstream facts(formatted("/proc/self/fdinfo/{}", fd.get()));
    std::string key;
    std::uint64_t number = 0;
    while (facts >> key)
        if (key == "mnt_id:" && facts >> number)
            return number;
    return 0;
}

} // namespace gpuctr_setup
