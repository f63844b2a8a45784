// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "rootfs/root.hpp"

#include <span>

namespace gpucontainer::apply {

/// A device node that a set-up mounted: it has flags that nobody else uses.
bool is_mounted_node(const std::string& target, std::uint32_t major, std::uint32_t minor,
                     int rootfs_fd);

/// Whether all that the plan makes is there, and no node of these drivers besides: what a set-up of
/// the same plan without a journal left.
bool is_in_place(const plan::Plan& plan, std::span<const model::DriverStack> drivers,
                 const rootfs::Root& root);

} // namespace gpucontainer::apply
