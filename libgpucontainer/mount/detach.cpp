// SPDX-License-Identifier: MIT
#include "mount/detach.hpp"

#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/statmount.hpp"
#include "mount/uppermost.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/mount.h>

namespace gpucontainer::mount {

int detach(int fd) noexcept { return ::umount2(FdPath(fd), MNT_DETACH); }

int detach_uncovered(int fd) noexcept
{
    const base::UniqueFd uppermost(open_uppermost(fd));
    std::uint64_t found = 0;
    std::uint64_t wanted = 0;
    if (uppermost && (!table_id(uppermost.get(), found) || !table_id(fd, wanted)))
        return -1;
    errno = EBUSY;
    return uppermost && found == wanted ? detach(fd) : -1;
}

} // namespace gpucontainer::mount
