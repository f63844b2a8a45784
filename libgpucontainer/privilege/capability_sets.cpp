// SPDX-License-Identifier: MIT
#include "privilege/capability_sets.hpp"

#include <cerrno>

namespace gpucontainer::privilege {

Result<CapabilitySets> CapabilitySets::read()
{
    const auto sets = syscall::read_capabilities();
    if (!sets)
        return Error::from_errno(errno, "read this process's capabilities");
    return CapabilitySets{*sets};
}

Result<void> CapabilitySets::write() const
{
    if (!syscall::write_capabilities(*this))
        return Error::from_errno(errno, "drop capabilities");
    return {};
}

} // namespace gpucontainer::privilege
