// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "mount/bench.hpp"

#include <cstdint>

/// Mounts made in a copy of the mount namespace, in which those that cannot be bound can:
/// nothing changes in the namespace itself. Each takes a short-lived child process, and
/// allocates nothing. EXDEV: the mount's root directory is outside of the process's, which is
/// that of a chroot().
namespace gpucontainer::mount {

/// What failed, of what is done with a directory.
enum class AsideStep : std::uint8_t { other, copy_namespace, list };

/// What to tell of EXDEV.
inline constexpr const char* why_out_of_reach =
    "the mount that it is on cannot be bound, and its root is outside of this process's root "
    "directory; make it private (mount --make-private), or do this outside of the chroot";

/// What comes to lie over a directory.
struct Over {
    base::UniqueFd mount;    ///< Attached nowhere. None with errno, and what failed.
    bool lists = false;      ///< Not an overlay: what is mounted below is there already.
    const char* failed = ""; ///< In words.
    AsideStep step = AsideStep::other;

    explicit operator bool() const noexcept { return static_cast<bool>(mount); }
};

/// Which names are to be seen over which directory, and how.
struct NamesOver {
    int names_fd;             ///< Root of a mount with them, attached nowhere.
    int covered_fd;           ///< The directory.
    std::uint64_t attributes; ///< MOUNT_ATTR_*.
    const char* label;        ///< As for a tmpfs.
};

/// An overlay, or where the kernel makes none the same as a tmpfs of bind mounts. ENOSPC: as
/// many mounts as that takes are not allowed. E2BIG: most_listed is less. Where Way::from_copy is
/// false the tmpfs alone, on the scratch directory and without a child.
Over lay_aside(const Bench& bench, const NamesOver& names) noexcept;

/// As clone_private(), where Way::from_copy is true.
int clone_private_aside(const Bench& bench, int fd) noexcept;

} // namespace gpucontainer::mount
