// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

namespace gpucontainer::plan {

/// A typical root of a distribution, for a plan without a root: it has the usual directories, and
/// nothing of a driver.
const rootfs::View& typical_root();

} // namespace gpucontainer::plan
