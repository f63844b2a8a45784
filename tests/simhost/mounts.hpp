// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace gpucontainer::simhost {

/// Gives the process a mount namespace of its own in which nothing propagates
/// to or from the machine, and a user namespace where that takes one. There it
/// is who it was, or root with `map_root`.
Result<void> enter_private_namespace(bool map_root);

/// Makes this process the one known in its fresh user namespace: who it was, or root.
Result<void> map_identity(uid_t uid, gid_t gid, bool map_root);

/// Nothing propagates between this mount namespace and others. The root directory is a mount
/// after it, also where chroot() had made it of a directory, below which the kernel would make no
/// user namespace.
Result<void> make_mounts_private();

/// Makes a mount the root directory; the one before it is gone from the namespace.
Result<void> enter_root(const std::string& place);

/// True unless this is the machine's own first user namespace.
bool in_user_namespace();

/// Mounts an empty tmpfs, mode 0755, on a directory.
Result<void> mount_tmpfs(const std::string& target);

/// Lays the directory `upper` over the machine's directory `target`, read-only.
/// What is mounted below `target` stays there, unless `upper` has it too.
Result<void> mount_overlay(const std::string& upper, const std::string& target);

enum class BindKind { single, recursive };

/// A detached copy of the mount at `path`, a last link not followed.
Result<base::UniqueFd> clone_mount(int dir_fd, const std::string& path,
                                   BindKind kind = BindKind::single);

/// Puts a detached mount onto `target`, a last link not followed.
Result<void> attach_mount(int mount, int dir_fd, const std::string& target);

/// Both in one step, for `target` as an absolute path.
Result<void> bind(int dir_fd, const std::string& path, const std::string& target,
                  BindKind kind = BindKind::single);

/// Of a mount that is attached.
Result<void> make_read_only(int mount);

/// Sets MOUNT_ATTR_* of one that is attached, and of all mounts below it.
Result<void> restrict_mount(int mount, std::uint64_t attributes);

/// Takes a mount out of the namespace; what still uses it keeps it.
Result<void> detach_mount(const std::string& target);

} // namespace gpucontainer::simhost
