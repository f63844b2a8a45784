// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"

namespace gpuctr_cli {

/// Whether this process may use the host's loop devices.
bool may_use_loop_devices() noexcept;

/// A read-only block device with the root file system of an image. The kernel frees it when nobody
/// has it open or mounted. Throws gpucontainer::Error: permission, apply.
Fd attach_to_loop_device(const ImageFile& image);

} // namespace gpuctr_cli
