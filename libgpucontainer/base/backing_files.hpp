// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::base {

/// The paths of the files that a block device is in, by what sysfs says: of a loop device, of a
/// partition of one, and of devices that are made of these. None for a disk, and for a device that
/// sysfs does not show. Errors: permission for a loop device that sysfs does not show.
Result<std::vector<std::string>> backing_files(dev_t device);

} // namespace gpucontainer::base
