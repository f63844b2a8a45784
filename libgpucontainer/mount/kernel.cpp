// SPDX-License-Identifier: MIT
#include "mount/kernel.hpp"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

#ifndef SYS_open_tree_attr
constexpr long open_tree_attr_number = 467; // the same on all architectures
#else
constexpr long open_tree_attr_number = SYS_open_tree_attr;
#endif

/// A call with a descriptor that cannot be valid tells whether it exists.
bool has_call(long number)
{
    (void)::syscall(number, -1, "", 0, nullptr, 0);
    return errno != ENOSYS && errno != EPERM;
}

} // namespace

std::string_view name(Backend backend)
{
    return backend == Backend::detached ? "detached" : "staged";
}

Result<Backend> probe_backend()
{
    if (!has_call(SYS_mount_setattr))
        return Error::from_errno(errno, "mount_setattr", Errc::requirement)
            .with_code(Errc::requirement)
            .with_hint("Linux 5.12 or later is needed, without a seccomp filter on mount_setattr");
    // Mounting onto a detached mount came with the release that added this call.
    return has_call(open_tree_attr_number) ? Backend::detached : Backend::staged;
}

Result<Backend> require_backend(Backend wanted)
{
    auto best = probe_backend();
    if (best && wanted == Backend::detached && *best != Backend::detached)
        return Error(Errc::requirement, "the detached backend needs Linux 6.15");
    if (best)
        return wanted;
    return best;
}

} // namespace gpucontainer::mount
