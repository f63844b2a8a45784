// SPDX-License-Identifier: MIT
#include "mount/uppermost.hpp"

#include "base/in_root.hpp"
#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/statmount.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

constexpr int as_place = O_PATH | O_DIRECTORY | O_CLOEXEC;

bool is_same_directory(int left, int right) noexcept
{
    struct stat first = {};
    struct stat second = {};
    return ::fstat(left, &first) == 0 && ::fstat(right, &second) == 0
           && first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

bool is_on_same_mount(int left, int right) noexcept
{
    std::uint64_t one = 0;
    std::uint64_t other = 0;
    return table_id(left, one) && table_id(right, other) && one == other;
}

UniqueFd open_at_its_path(int directory) noexcept
{
    std::array<char, PATH_MAX> path = {};
    if (::readlink(FdPath(directory), path.data(), path.size() - 1) <= 0)
        return {};
    return UniqueFd{::open(path.data(), as_place)};
}

/// Runs in the child, which shares its parent's descriptors. It may only make system calls.
bool look_from_within(int directory, int found) noexcept
{
    if (::fchdir(directory) != 0 || ::chroot(".") != 0)
        return false;
    const UniqueFd uppermost(::open("/..", as_place));
    return uppermost && ::dup3(uppermost.get(), found, O_CLOEXEC) == found;
}

UniqueFd open_as_root(int directory) noexcept
{
    UniqueFd found(::fcntl(directory, F_DUPFD_CLOEXEC, 3));
    if (!found)
        return found;
    // No signal is sent to the parent, and the handlers of fork() do not run.
    const long child = ::syscall(SYS_clone, CLONE_FILES, nullptr, nullptr, nullptr, nullptr);
    if (child < 0)
        return {};
    if (child == 0)
        ::_exit(look_from_within(directory, found.get()) ? 0 : 1);
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(static_cast<pid_t>(child), &status, __WALL)) < 0 && errno == EINTR)
        continue;
    if (ended < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        found.reset();
        errno = EPERM;
    }
    return found;
}

} // namespace

int open_uppermost(int directory) noexcept
{
    const int fd = base::open_uppermost(directory);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return base::above_standard(fd);
    UniqueFd at_path = open_at_its_path(directory);
    if (at_path && !is_same_directory(at_path.get(), directory))
        at_path.reset();
    // If nothing is mounted over it, no process is started.
    if (at_path && is_on_same_mount(at_path.get(), directory))
        return at_path.release();
    UniqueFd uppermost = open_as_root(directory);
    return uppermost ? uppermost.release() : at_path.release();
}

} // namespace gpucontainer::mount
