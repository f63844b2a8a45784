// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "apply/target.hpp"
#include "base/result.hpp"
#include "detect/detection.hpp"
#include "mount/kernel.hpp"
#include "plan/request.hpp"

#include <string>
#include <vector>

namespace gpucontainer::capi {

/// The texts of a NULL-terminated list; none of a null pointer.
std::vector<std::string> strings(const char* const* list);

/// Reads options of the host. Errors: usage.
Result<detect::Detection> read_detection(const gpuctr_host_options* options);

/// Reads a request. Errors: usage.
Result<plan::Request> read_request(const gpuctr_request& given);

/// Reads one of GPUCTR_BACKEND_*. Errors: usage; requirement, if the kernel does not support it.
Result<mount::Backend> read_backend(std::uint32_t given);

/// Refuses AT_FDCWD and the like, where -1 means no root or those of the whole host.
inline Result<void> check_descriptor_or_none(int rootfs_fd)
{
    if (rootfs_fd >= -1)
        return {};
    return Error(Errc::usage, "rootfs_fd is neither a descriptor nor -1")
        .with_argument("rootfs_fd");
}

/// Reads what the options of apply, undo and status have in common. A flag that is not `known`, or
/// `in_process` without a process, is an error. Errors: usage.
template <typename Options>
Result<apply::Target> read_target(int rootfs_fd, const Options& given, std::uint32_t known,
                                  std::uint32_t in_process)
{
    if ((given.flags & ~known) != 0)
        return Error(Errc::usage, "options: an unknown flag is set").with_argument("flags");
    apply::Target target;
    target.rootfs_fd = rootfs_fd;
    if (given.state_dir != nullptr)
        target.state_directory = given.state_dir;
    if ((given.flags & in_process) == 0)
        return target;
    if (given.pidfd < 0)
        return Error(Errc::usage, "options: pidfd is missing").with_argument("pidfd");
    target.pidfd = given.pidfd;
    return target;
}

} // namespace gpucontainer::capi
