// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::mount {

/// Whether `inner` is `outer` or lies in it, by their positions in the file system. Its path does
/// not tell this if a directory in `outer` is mounted elsewhere. The mount table of this namespace
/// is read, but only if `inner` may be on such a mount. False if it is unknown, as for a directory
/// of another namespace.
bool lies_within(int inner, int outer);

/// Mounts of this namespace at a path, visible there or hidden by others: their numbers in the
/// mount table.
std::vector<std::uint64_t> mounts_at(std::string_view path);

/// The path of such a mount; none if it cannot be reached from the thread's root directory.
std::optional<std::string> path_of_mount(std::uint64_t number);

/// A place in a file system, by whatever mount it is visible.
struct Position {
    std::uint64_t device; ///< Number in mount tables. On btrfs, directories have other ones.
    std::string path;
    std::string type;    ///< Of the file system; "" if unknown.
    std::string options; ///< Of the file system, as in the table; "" if unknown.
};

/// The position of a directory on a mount in `table`; none if it is unknown.
std::optional<Position> position_of(int fd, int table = own_table);

/// The value of an option of the file system.
std::optional<std::string> option_of(const Position& position, std::string_view name);

/// A mount of this namespace that shows a part of a file system.
struct MountPoint {
    std::uint64_t number;
    std::string root; ///< The directory in the file system that is mounted.
    std::string path;
};

/// All mounts of a file system; none if they are unknown.
std::optional<std::vector<MountPoint>> mounts_of(std::uint64_t device);

/// The same for all devices that the kernel numbers anew for each mount. Only file systems on this
/// machine are included: those on a network (NFS, CIFS, Ceph) and FUSE may not answer, and others
/// mount something when they are looked at.
std::optional<std::vector<MountPoint>> local_anonymous_mounts();

} // namespace gpucontainer::mount
