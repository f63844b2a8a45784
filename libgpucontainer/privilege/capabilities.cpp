// SPDX-License-Identifier: MIT
#include "privilege/capabilities.hpp"

#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::privilege {

Result<void> require_mounting()
{
    // Not by libcap, which works at load time already: a program that links this
    // library would pay for it before it calls anything.
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {};
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
        return Error::from_errno(errno, "read this process's capabilities");
    if ((sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0)
        return {};
    return Error(Errc::permission, "mounting needs CAP_SYS_ADMIN, which this process lacks")
        .with_object("CAP_SYS_ADMIN")
        .with_hint("be root, work inside `unshare -Urm`, or let the command make its own "
                   "namespaces with `-- CMD`");
}

} // namespace gpucontainer::privilege
