// SPDX-License-Identifier: MIT
#include "process/privileges.hpp"

#include "output/failure.hpp"
#include "syscall/process.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <unistd.h>

namespace gpuctr_cli {

void give_up_raised_privileges()
{
    if (!gpucontainer::syscall::is_raised())
        return;
    const uid_t uid = ::getuid();
    const gid_t gid = ::getgid();
    if (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0)
        fail("give up raised privileges", GPUCTR_E_PERMISSION);
    gpucontainer::harden(0, GPUCTR_HARDEN_DUMPABLE);
}

void shrink_privileges(std::uint32_t phases) { gpucontainer::harden(phases); }

// CMD may need a user namespace: a process that is not dumpable may not map its own ids into
// one, and a security module may refuse one because of no_new_privs.
void shrink_privileges_until_exec(std::uint32_t phases)
{
    gpucontainer::harden(phases, GPUCTR_HARDEN_FOR_EXEC | GPUCTR_HARDEN_NEW_PRIVILEGES
                                     | GPUCTR_HARDEN_DUMPABLE);
}

void forbid_new_privileges(std::uint32_t phases, bool allow_setuid)
{
    gpucontainer::harden(phases, GPUCTR_HARDEN_FOR_EXEC
                                     | (allow_setuid ? GPUCTR_HARDEN_NEW_PRIVILEGES : 0U));
}

} // namespace gpuctr_cli
