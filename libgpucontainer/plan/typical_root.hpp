// SPDX-License-Identifier: MIT
#pragma once

#include "elf/machine.hpp"
#include "rootfs/view.hpp"

namespace gpucontainer::plan {

/// A typical root of a distribution for the machine, for a plan without a root: it has the usual
/// directories, and nothing of a driver.
const rootfs::View& typical_root(const elf::Machine& machine);

} // namespace gpucontainer::plan
