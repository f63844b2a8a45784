// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/origin.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpucontainer::journal {

/// The directory in which names of a set-up remain after the container's mounts are gone: the
/// root, or the upper layer of an overlay.
struct Ground {
    RootId id;
    /// Its path in the mount namespace that applied the plan; "" if it has none. Only a hint: what
    /// it leads to is checked.
    std::string path;
    bool is_layer = false;
    std::string shown_at;          ///< For a layer: the path of the overlay.
    bool is_lasting = true;        ///< Its file system outlives the boot.
    std::uint64_t file_system = 0; ///< Identity of the file system; 0: unknown.
    std::uint64_t device = 0;      ///< Device number of its mounts, as in mount tables.
    std::string handle;            ///< File handle of the directory; "" if it has none.
};

/// The kernel's file handles are not longer.
inline constexpr std::size_t longest_handle = 132;

/// The ground of a root that a set-up will write into. The root is at its path, or "", in the
/// mount namespace of `pidfd`; -1: the caller's. None if the upper layer of an overlay is unknown.
/// Errors: those of mount::NamespaceVisit.
Result<std::optional<Ground>> find_ground(int rootfs_fd, int pidfd, const std::string& path);

/// What has become of a ground. It is gone if its file system says so by the file handle, which
/// only root may use. Without a handle, or for other users, it is gone if it is no longer at its
/// path although its file system is there. A ground in memory is gone after a reboot.
struct Whereabouts {
    enum class State : std::uint8_t { unknown, there, gone } state = State::unknown;
    std::string path; ///< Where it is visible; "" if not from here.
};
Whereabouts look_for(const Ground& ground, bool same_boot);

} // namespace gpucontainer::journal
