// SPDX-License-Identifier: MIT
#pragma once

#include "rootfs/view.hpp"

namespace gpucontainer::plan {

/// A distribution's root in general, for a plan that is made for none in
/// particular: the usual directories, and nothing of a driver.
const rootfs::View& typical_root();

} // namespace gpucontainer::plan
