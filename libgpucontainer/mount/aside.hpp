// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "mount/bench.hpp"

#include <cstdint>

/// Mounts made in a copy of the mount namespace. In the copy, unbindable mounts can be bind
/// mounted; the namespace itself does not change. Each call starts a short-lived child process, and
/// allocates nothing. EXDEV: the mount's root directory is outside of the process's root directory,
/// after a chroot().
namespace gpucontainer::mount {

/// The step with a directory that failed.
enum class AsideStep : std::uint8_t { other, copy_namespace, list };

/// The explanation of EXDEV.
inline constexpr const char* why_out_of_reach =
    "the mount that it is on cannot be bound, and its root is outside of this process's root "
    "directory; make it private (mount --make-private), or do this outside of the chroot";

/// A mount to attach over a directory.
struct Over {
    base::UniqueFd mount;    ///< Attached nowhere. None with errno, and what failed.
    bool lists = false;      ///< It is a listing, which already has the mounts below.
    const char* failed = ""; ///< The failed step, for messages.
    AsideStep step = AsideStep::other;

    explicit operator bool() const noexcept { return static_cast<bool>(mount); }
};

/// Names that are to be visible over a directory.
struct NamesOver {
    int names_fd;             ///< Root of a mount with them, attached nowhere.
    int covered_fd;           ///< The directory.
    std::uint64_t attributes; ///< MOUNT_ATTR_*.
    const char* label;        ///< As for a tmpfs.
};

/// An overlay, or, if the kernel cannot make one, a listing: a tmpfs of bind mounts that shows the
/// same. ENOSPC: so many mounts are not allowed. E2BIG: there are more than most_listed. If
/// Way::from_copy is false, it is always a listing, on the scratch directory and without a child.
Over lay_aside(const Bench& bench, const NamesOver& names) noexcept;

/// Like clone_private(), if Way::from_copy is true.
int clone_private_aside(const Bench& bench, int fd) noexcept;

} // namespace gpucontainer::mount
