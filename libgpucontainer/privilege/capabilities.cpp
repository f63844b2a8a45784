// SPDX-License-Identifier: MIT
#include "privilege/capabilities.hpp"

#include "base/c_handle.hpp"

#include <cerrno>
#include <sys/capability.h>

namespace gpucontainer::privilege {

Result<void> require_mounting()
{
    using Capabilities = base::CHandle<std::remove_pointer_t<cap_t>, cap_free>;
    const Capabilities capabilities(cap_get_proc());
    cap_flag_value_t effective = CAP_CLEAR;
    if (!capabilities
        || cap_get_flag(capabilities.get(), CAP_SYS_ADMIN, CAP_EFFECTIVE, &effective) != 0)
        return Error::from_errno(errno, "read this process's capabilities");
    if (effective == CAP_SET)
        return {};
    return Error(Errc::permission, "mounting needs CAP_SYS_ADMIN, which this process lacks")
        .with_object("CAP_SYS_ADMIN")
        .with_hint("be root, work inside `unshare -Urm`, or let the command make its own "
                   "namespaces with `-- CMD`");
}

} // namespace gpucontainer::privilege
