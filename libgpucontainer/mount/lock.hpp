// SPDX-License-Identifier: MIT
#pragma once

#include <span>

/// Mounts with locked flags: nobody who may mount there can change them.
namespace gpucontainer::mount {

/// Replaces each mount, attached nowhere, by a copy with locked flags, attached nowhere. Nobody can
/// remove the flags, not even root of the container with CAP_SYS_ADMIN. A mount below it cannot be
/// unmounted alone, but the whole can.
///
/// The kernel locks mounts that are copied into a mount namespace of another user namespace. A
/// child process makes such a namespace, and clones the mounts from there. It raises no SIGCHLD.
/// Nothing is allocated on the heap and no lock is taken. Returns null, or what failed, with errno;
/// then the mounts cannot be used. Needs CAP_SYS_ADMIN, and CAP_SYS_CHROOT in a process whose root
/// directory is not that of its mount namespace.
const char* lock(std::span<int> mounts) noexcept;

} // namespace gpucontainer::mount
