// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"
#include "rootfs/view.hpp"

#include <span>

namespace gpucontainer::check {

/// Adds which directories of the kernel drivers need in a container that has no place for them.
void add_missing_places(const rootfs::View& container, std::span<const model::DriverStack> drivers,
                        model::Causes& causes);

/// Adds that a group of the image has another number than nodes that are for this group, so that
/// its users get no GPU. `is_root`: the container's programs need no group.
Result<void> add_group_causes(const rootfs::View& container,
                              std::span<const model::DriverStack> drivers, bool is_root,
                              model::Causes& causes);

} // namespace gpucontainer::check
