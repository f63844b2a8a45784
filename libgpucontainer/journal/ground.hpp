// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/origin.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpucontainer::journal {

/// The directory that names of a set-up stay in when its mounts are gone, and the paths of a
/// container with them: the root, or the layer that an overlay is written to.
struct Ground {
    RootId id;
    /// In the mount namespace of whoever set up; "" where it has none there. A hint: what it
    /// leads to is looked at.
    std::string path;
    bool is_layer = false;
    std::string shown_at;          ///< Of a layer: where the overlay was, in the same way.
    bool is_lasting = true;        ///< Its file system outlives the boot.
    std::uint64_t file_system = 0; ///< What tells that from others; 0: nothing does.
    std::uint64_t device = 0;      ///< Of its mounts, as mount tables number it.
    std::string handle;            ///< By which its file system knows it; "" where it has none.
};

/// Longer ones are none of the kernel's.
inline constexpr std::size_t longest_handle = 132;

/// Of a root which a set-up is going to write into, at its path or "", in the mount namespace of
/// `pidfd`; -1: the caller's. None where nothing tells
/// which layer an overlay is written to.
/// Errors: as of mount::NamespaceVisit.
Result<std::optional<Ground>> find_ground(int rootfs_fd, int pidfd, const std::string& path);

/// What has become of it. Gone is what its file system says is gone, by the handle, which root
/// alone may ask for; for others, and where there is no handle, what is not at its path any more
/// though its file system is there. What was in memory is gone with the boot.
struct Whereabouts {
    enum class State : std::uint8_t { unknown, there, gone } state = State::unknown;
    std::string path; ///< Where it is seen; "" where that is not from here.
};
Whereabouts look_for(const Ground& ground, bool same_boot);

} // namespace gpucontainer::journal
