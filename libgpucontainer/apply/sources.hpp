// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <string>
#include <sys/mount.h>

/// The host's files and device nodes as detached mounts.
namespace gpucontainer::apply {

inline constexpr std::uint64_t file_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Read-only does not prevent use of a socket, or of a pipe in a directory.
inline constexpr std::uint64_t shared_attributes = file_attributes | MOUNT_ATTR_NOEXEC;
// Read-only protects mode, owner and times of the host's node. It does not prevent use of the
// device.
inline constexpr std::uint64_t device_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

/// Clones a source. An error if it is no longer the file, directory or device that was planned.
Result<base::UniqueFd> clone_file(const mount::Bench& bench, const std::string& source,
                                  const model::FileId& id, bool is_directory);
Result<base::UniqueFd> clone_entry(const mount::Bench& bench, const plan::KernelEntry& entry);
Result<base::UniqueFd> clone_shared(const mount::Bench& bench, const plan::Shared& shared);
Result<base::UniqueFd> clone_device(const mount::Bench& bench, const plan::Device& device);

/// An error if no kernel module is loaded and no version was given.
Result<void> require_driver(const plan::Plan& plan);

/// An error if the kernel has no detached mounts.
Result<void> require_detached(mount::Backend backend);

/// An error if the flags of mounts are to be locked and cannot be.
Result<void> require_lockable(const plan::Plan& plan, mount::Backend backend);

/// Sets the attributes of a mount and of all mounts below, unless those must be set before
/// (mount::Way::sets_below). Makes sure that the mount does not propagate to other namespaces when
/// it is attached.
Result<void> guard(const mount::Bench& bench, const base::UniqueFd& tree, std::uint64_t attributes);

} // namespace gpucontainer::apply
