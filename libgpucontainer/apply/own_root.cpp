// SPDX-License-Identifier: MIT
#include "apply/own_root.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "plan/builder.hpp"
#include "rootfs/root.hpp"

#include <fcntl.h>

namespace gpucontainer::apply {

Result<void> check_root(const plan::Plan& plan, const Target& target, const journal::RootId& root)
{
    if (!rootfs::Root::is_callers(root.device, root.inode))
        return {};
    const base::UniqueFd own(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (target.pidfd >= 0 || plan.writes_root || !own
        || mount::is_on(target.rootfs_fd, mount::mount_id(own.get())))
        return plan::callers_root();
    return {};
}

} // namespace gpucontainer::apply
