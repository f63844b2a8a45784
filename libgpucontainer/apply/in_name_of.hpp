// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/try.hpp"
#include "privilege/container_root.hpp"
#include "privilege/file_owner.hpp"
#include "program/failure.hpp"

#include <cerrno>
#include <optional>

/// Work in a root is done as the owner of its names, and never with more privileges.
namespace gpucontainer::apply {

/// For the root of a process: root of its present user namespace. None for any other root: the
/// caller. Errors: those of privilege::root_of().
inline Result<std::optional<privilege::Owner>> owner_in(const Target& target)
{
    if (target.pidfd < 0)
        return std::optional<privilege::Owner>();
    return privilege::root_of(target.pidfd);
}

/// Does one step of the executor as that owner. If the thread cannot take the owner's ids, it does
/// nothing and returns false, with errno and the failure.
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
