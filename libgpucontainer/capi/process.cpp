// SPDX-License-Identifier: MIT
#include "privilege/process.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"

using namespace gpucontainer;

static_assert(GPUCTR_PHASE_LOOK == privilege::look && GPUCTR_PHASE_STATUS == privilege::status
              && GPUCTR_PHASE_MOUNT == privilege::mounts && GPUCTR_PHASE_APPLY == privilege::apply
              && GPUCTR_PHASE_IN_PROCESS == privilege::in_process);

gpuctr_status gpuctr_process_harden(const gpuctr_harden_options* options, gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        constexpr std::uint32_t known_flags =
            GPUCTR_HARDEN_FOR_EXEC | GPUCTR_HARDEN_NEW_PRIVILEGES | GPUCTR_HARDEN_DUMPABLE;
        GPUCTR_TRY(const auto given, capi::read_options(options));
        if ((given.phases & ~privilege::all_phases) != 0 || (given.flags & ~known_flags) != 0)
            return Error(Errc::usage, "gpuctr_process_harden: an unknown phase or flag is set");
        privilege::Hardening wanted;
        wanted.capabilities = privilege::capabilities_for(given.phases) | given.capabilities;
        wanted.for_exec = (given.flags & GPUCTR_HARDEN_FOR_EXEC) != 0;
        wanted.new_privileges = (given.flags & GPUCTR_HARDEN_NEW_PRIVILEGES) != 0;
        wanted.dumpable = (given.flags & GPUCTR_HARDEN_DUMPABLE) != 0;
        return privilege::harden(wanted);
    });
}
