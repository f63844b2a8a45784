// SPDX-License-Identifier: MIT
#include "privilege/capabilities.hpp"

#include "base/format.hpp"
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

namespace {

bool has_on_host(unsigned capability)
{
    const auto sets = CapabilitySets::read();
    return sets && (sets->effective & syscall::bit(capability)) != 0
           && syscall::is_in_initial_user_namespace().value_or(false);
}

Error lacks_on_host(const std::string& task, const char* capability)
{
    return Error(Errc::permission,
                 base::format("{} needs {} in the initial user namespace, which this process lacks",
                              task, capability))
        .with_object(capability)
        .with_hint("be root of the host; a container cannot do it");
}

} // namespace

Result<void> require_loading_modules(const std::string& what)
{
    if (has_on_host(CAP_SYS_MODULE))
        return {};
    return lacks_on_host("loading the kernel modules " + what, "CAP_SYS_MODULE");
}

Result<void> require_making_nodes(const std::string& what)
{
    if (may_make_nodes())
        return {};
    return lacks_on_host(base::format("making {} on the host", what), "CAP_MKNOD");
}

bool may_make_nodes() { return has_on_host(CAP_MKNOD); }

} // namespace gpucontainer::privilege
