// SPDX-License-Identifier: MIT
#include "process/standard_descriptors.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/descriptor.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr const char* null_device = "/dev/null";

/// Opens the null device in the wrong direction: to write for standard input, to read for others.
int open_null(int fd, int flags)
{
    const int contrary = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    const int null = ::open(null_device, contrary | O_NOFOLLOW | O_NOCTTY | flags);
    struct stat status = {};
    if (null < 0 || ::fstat(null, &status) != 0)
        fail(null_device, GPUCTR_E_REQUIREMENT, "open standard input, output and error");
    constexpr unsigned memory_devices = 1;
    constexpr unsigned null_number = 3;
    if (!S_ISCHR(status.st_mode) || status.st_rdev != ::makedev(memory_devices, null_number))
        throw gpucontainer::Error(GPUCTR_E_REQUIREMENT,
                                  formatted("{} is not the null device", null_device),
                                  "open standard input, output and error", 0);
    return null;
}

} // namespace

void fill_standard_descriptors()
{
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(fd, F_GETFD) < 0)
            (void)open_null(fd, 0); // gets the lowest free descriptor, which is `fd`
}

void keep_from_command(int fd)
{
    const bool done = fd > STDERR_FILENO ? ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0
                                         : ::dup2(Fd(open_null(fd, O_CLOEXEC)).get(), fd) == fd;
    if (!done)
        fail(formatted("descriptor {}", fd), GPUCTR_E_INTERNAL);
}

} // namespace gpuctr_cli
