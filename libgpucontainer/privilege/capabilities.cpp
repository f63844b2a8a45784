// SPDX-License-Identifier: MIT
#include "privilege/capabilities.hpp"

#include "base/try.hpp"
#include "privilege/capability_sets.hpp"
#include "syscall/id_map.hpp"

#include <linux/capability.h>

namespace gpucontainer::privilege {

Result<void> require_mounting()
{
    GPUCTR_TRY(const CapabilitySets sets, CapabilitySets::read());
    if ((sets.effective & syscall::bit(CAP_SYS_ADMIN)) != 0)
        return {};
    return Error(Errc::permission, "mounting needs CAP_SYS_ADMIN, which this process lacks")
        .with_object("CAP_SYS_ADMIN")
        .with_hint("be root, work inside `unshare -Urm`, or let the command make its own "
                   "namespaces with `-- CMD`");
}

bool may_make_nodes()
{
    const auto sets = CapabilitySets::read();
    return sets && (sets->effective & syscall::bit(CAP_MKNOD)) != 0
           && syscall::is_in_initial_user_namespace().value_or(false);
}

} // namespace gpucontainer::privilege
