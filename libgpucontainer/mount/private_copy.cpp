// SPDX-License-Identifier: MIT
#include "mount/private_copy.hpp"

#include "base/unique_fd.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

/// Makes the root of the mount namespace the root directory. With another root directory, no user
/// namespace can be made, and "/" need not be a mount. If this fails, the next call reports it.
void enter_root_of_namespace() noexcept
{
    const base::UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (self)
        (void)::setns(self.get(), CLONE_NEWNS);
}

} // namespace

bool enter_private_copy() noexcept
{
    if (::unshare(CLONE_NEWNS) != 0)
        return false;
    enter_root_of_namespace();
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

} // namespace gpucontainer::mount
