// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <string>
#include <sys/mount.h>

/// The host's files and device nodes as mounts that are attached nowhere.
namespace gpucontainer::apply {

inline constexpr std::uint64_t file_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Read-only keeps mode, owner and times of the host's node; it does not keep
// anybody from using the device.
inline constexpr std::uint64_t device_attributes =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

/// A source, which still has to be the file, directory or device that was planned.
Result<base::UniqueFd> clone_file(const mount::Bench& bench, const std::string& source,
                                  const model::FileId& id, bool is_directory);
Result<base::UniqueFd> clone_device(const mount::Bench& bench, const plan::Device& device);

/// An error where no kernel module is loaded and nobody said which version to take.
Result<void> require_driver(const plan::Plan& plan);

/// An error where mounts cannot be made in one place and attached in another.
Result<void> require_detached(mount::Backend backend);

/// An error where the flags of mounts are to be locked and cannot be.
Result<void> require_lockable(const plan::Plan& plan, mount::Backend backend);

/// Sets the attributes of a mount and all below it, unless those below have to get theirs
/// before (mount::Way::sets_below), and keeps it from being attached where it would show in other
/// namespaces.
Result<void> guard(const mount::Bench& bench, const base::UniqueFd& tree, std::uint64_t attributes);

} // namespace gpucontainer::apply
