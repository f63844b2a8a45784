// SPDX-License-Identifier: MIT
#pragma once

#include "mount/way.hpp"

namespace gpucontainer::mount {

/// By open_tree(), move_mount(), mount_setattr() and fsopen(), Linux 5.12.
extern const Way assembled_way;
/// The same, with what Linux 6.15 added.
extern const Way detached_way;

} // namespace gpucontainer::mount
