// SPDX-License-Identifier: MIT
#include "privilege/process.hpp"

#include "base/try.hpp"
#include "privilege/capability_sets.hpp"

#include <cerrno>
#include <linux/capability.h>
#include <sys/prctl.h>

namespace gpucontainer::privilege {
namespace {

using syscall::bit;

/// To read files that the caller may not read, and to ask whether they may be written and whether
/// device nodes may be made: a plan says what apply is going to do.
constexpr std::uint64_t for_look =
    bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_MKNOD);
/// To find out which mount namespaces exist: from the namespaces, before Linux 6.11 from their
/// processes.
constexpr std::uint64_t for_status = for_look | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_PTRACE);
/// To mount. CAP_CHOWN is for the owner of device nodes that the host lacks. CAP_SYS_CHROOT is for
/// locked mounts: the kernel makes no user namespace for a process in a chroot.
constexpr std::uint64_t for_mounts =
    for_look | bit(CAP_CHOWN) | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_CHROOT);
/// To restore the times of directories that belong to somebody else, and to act as the owner of
/// the names in a container.
constexpr std::uint64_t for_apply =
    for_status | for_mounts | bit(CAP_FOWNER) | bit(CAP_SETUID) | bit(CAP_SETGID);
/// For /proc/PID/root, and to join the other namespace.
constexpr std::uint64_t in_other_process =
    bit(CAP_SYS_PTRACE) | bit(CAP_SYS_ADMIN) | bit(CAP_SYS_CHROOT);

Result<void> set_flag(int option, unsigned long value, const char* what)
{
    if (::prctl(option, value, 0UL, 0UL, 0UL) != 0)
        return Error::from_errno(errno, what);
    return {};
}

} // namespace

std::uint64_t capabilities_for(std::uint32_t phases)
{
    std::uint64_t needed = 0;
    const auto add = [&](std::uint32_t phase, std::uint64_t capabilities) {
        if ((phases & phase) != 0)
            needed |= capabilities;
    };
    add(look, for_look);
    add(status, for_status);
    add(mounts, for_mounts);
    add(apply, for_apply);
    add(in_process, in_other_process);
    return needed;
}

Result<void> harden(const Hardening& wanted)
{
    GPUCTR_TRY(CapabilitySets sets, CapabilitySets::read());
    const CapabilitySets before = sets;
    sets.effective &= wanted.capabilities;
    if (!wanted.for_exec) {
        sets.permitted = sets.effective;
        sets.inheritable = 0; // this drops ambient ones too
    }
    if (sets != before)
        GPUCTR_CHECK(sets.write());
    if (!wanted.new_privileges)
        GPUCTR_CHECK(set_flag(PR_SET_NO_NEW_PRIVS, 1, "forbid new privileges"));
    if (!wanted.dumpable)
        GPUCTR_CHECK(set_flag(PR_SET_DUMPABLE, 0, "forbid being traced"));
    return {};
}

Result<void> refuse_raised(bool made_for_it)
{
    if (made_for_it || !is_raised())
        return {};
    return Error(Errc::permission, "this program has more privileges than who started it: it is "
                                   "setuid, setgid or has file capabilities")
        .with_hint("run it as root, or as that user without them; a program that is made for it "
                   "says so in the options of the call");
}

} // namespace gpucontainer::privilege
