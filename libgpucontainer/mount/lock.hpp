// SPDX-License-Identifier: MIT
#pragma once

#include <span>

/// Mounts whose flags stay what they are, whoever may mount where they are.
namespace gpucontainer::mount {

/// Replaces each mount, attached nowhere, by a copy of it that is attached nowhere
/// and whose flags nobody can take away, not even root of the container with
/// CAP_SYS_ADMIN; nor can a mount below it be unmounted by itself. The whole can.
///
/// The kernel locks what a mount namespace of another user namespace shows: a
/// child process makes one, and copies the mounts out of it. It is waited for and
/// raises no SIGCHLD. Nothing is allocated on the heap and no lock is taken. Returns null, or what
/// failed, with errno; the mounts are of no use then. Needs CAP_SYS_ADMIN and, in
/// a process with another root directory than its mount namespace, CAP_SYS_CHROOT.
const char* lock(std::span<int> mounts) noexcept;

} // namespace gpucontainer::mount
