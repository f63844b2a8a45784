// SPDX-License-Identifier: MIT
#include "apply/failure.hpp"

#include "mount/aside.hpp"
#include "program/parent.hpp"

#include <cerrno>
#include <string>
#include <utility>

namespace gpucontainer::apply {

using program::Cause;

namespace {

/// Hint for the single mounts that replace an overlay which the kernel refused.
std::string hint_for_listing(int os_error)
{
    if (os_error == ENOSPC)
        return "no overlay can lie over it, and mounts of all that is in it are more than the "
               "sysctl fs.mount-max allows; let the root file system be written with --write "
               "always";
    if (os_error == E2BIG)
        return "no overlay can lie over it, and mounts of all that is in it are too many; let the "
               "root file system be written with --write always";
    if (os_error == EINVAL)
        return "a mount there is unbindable; make it private: mount --make-private DIR";
    return "";
}

std::string hint_for(const program::Failure& failure)
{
    const bool read_only = failure.os_error == EROFS || failure.os_error == EACCES;
    if (failure.cause == Cause::listing)
        if (std::string hint = hint_for_listing(failure.os_error); !hint.empty())
            return hint;
    if (failure.cause == Cause::mount_copied && failure.os_error == EXDEV)
        return mount::why_out_of_reach;
    if (failure.cause == Cause::shared_mount)
        return "it would show in other namespaces too; make all mounts of the root file system "
               "private (in a container that runs: mount --make-rprivate /)";
    if (failure.cause == Cause::foreign_mount)
        return "unmount that first: it would go along";
    if (failure.cause == Cause::kept_file_there)
        return std::string(program::kept_prefix)
               + "* beside it is what a set-up replaced that is not known here: undo that one with "
                 "its own state directory, or move the file back";
    if (failure.cause == Cause::cannot_create && read_only)
        return "--write auto lets names appear through mounts where they cannot be made";
    if (failure.os_error == ESTALE)
        return "it changed while this was going on; try again";
    return "";
}

} // namespace

Error to_error(const program::Failure& failure)
{
    const std::string what = std::string(failure.step) + " " + failure.object;
    Error error = failure.os_error != 0 ? Error::from_errno(failure.os_error, what, failure.code)
                                        : Error(failure.code, what);
    return std::move(error)
        .with_code(failure.code)
        .with_object(failure.object)
        .with_hint(hint_for(failure));
}

} // namespace gpucontainer::apply
