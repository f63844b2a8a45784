// SPDX-License-Identifier: MIT
#pragma once

#include "mount/way.hpp"

namespace gpucontainer::mount {

/// By mount(2), with the paths of descriptors in /proc; on any kernel. A new mount is on the
/// scratch directory. Its descriptor is that of its root, and stays so when the mount is moved.
extern const Way legacy_way;

} // namespace gpucontainer::mount
