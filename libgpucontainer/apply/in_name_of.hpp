// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/try.hpp"
#include "privilege/container_root.hpp"
#include "privilege/file_owner.hpp"
#include "program/failure.hpp"

#include <cerrno>
#include <optional>

/// Who does what is done in a root: whom its names belong to, and never with more privileges.
namespace gpucontainer::apply {

/// Root of the user namespace of the process that a root is of, as that is now; none for any
/// other root: the caller. Errors: as of privilege::root_of().
inline Result<std::optional<privilege::Owner>> owner_in(const Target& target)
{
    if (target.pidfd < 0)
        return std::optional<privilege::Owner>();
    return privilege::root_of(target.pidfd);
}

/// Does one step of the executor as that owner; false, with errno and the failure, where the
/// thread cannot become him, and nothing is done.
template <typename Work>
bool in_name_of(const std::optional<privilege::Owner>& owner, program::Failure& failure, Work work)
{
    const privilege::FileOwner as_owner(owner);
    if (as_owner)
        return work();
    failure = {Errc::permission, errno, "work as root of the container", ""};
    return false;
}

} // namespace gpucontainer::apply
