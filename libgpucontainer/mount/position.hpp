// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::mount {

/// Whether one directory lies in another, or is it, by where both are in their file system:
/// a mount of a directory within `outer` shows nothing of that above itself. By the mount
/// table of this namespace, which is read only where `inner` is on a mount that could be
/// one. False where it does not tell, as of a directory of another namespace.
bool lies_within(int inner, int outer);

/// Mounts of this namespace at a path, seen there or hidden by others, as the mount table
/// numbers them.
std::vector<std::uint64_t> mounts_at(std::string_view path);

/// Where such a mount is; none when it is not reached from the thread's root directory.
std::optional<std::string> path_of_mount(std::uint64_t number);

/// A place in a file system, whatever mount shows it.
struct Position {
    std::uint64_t device; ///< As mount tables number it, which on btrfs no directory has.
    std::string path;
    std::string type;    ///< Of the file system; "" where the table does not tell, and so
    std::string options; ///< its options, as the table has them.
};

/// Of a directory on a mount that `table` has; none where that is not to be told.
std::optional<Position> position_of(int fd, int table = own_table);

/// What such an option was given.
std::optional<std::string> option_of(const Position& position, std::string_view name);

/// A mount of this namespace that shows a part of a file system.
struct MountPoint {
    std::uint64_t number;
    std::string root; ///< Where in the file system that part begins.
    std::string path;
};

/// All of one file system; none where that is not to be told.
std::optional<std::vector<MountPoint>> mounts_of(std::uint64_t device);

/// Same of every device that the kernel gave out for the time of a mount, of file systems on this
/// machine alone: those of a network (NFS, CIFS, Ceph) and of FUSE may not answer, and others
/// mount something when they are looked at.
std::optional<std::vector<MountPoint>> local_anonymous_mounts();

} // namespace gpucontainer::mount
