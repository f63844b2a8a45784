// SPDX-License-Identifier: MIT
#pragma once

#include "mount/way.hpp"

namespace gpucontainer::mount {

/// By mount(2) on descriptors, whose paths in /proc it takes; any kernel. What is made is the
/// descriptor of the root of a mount on the scratch directory; it stays that when the mount is
/// moved.
extern const Way legacy_way;

} // namespace gpucontainer::mount
