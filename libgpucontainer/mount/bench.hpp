// SPDX-License-Identifier: MIT
#pragma once

#include "mount/kernel.hpp"

namespace gpucontainer::mount {

/// With what mounts are made. A value that may be copied, also into a child.
struct Bench {
    Backend backend = Backend::detached;
    /// A directory that nobody else reaches, where mounts are made before they are moved
    /// to where they belong, for backends whose mounts are never detached.
    int scratch = -1;
};

} // namespace gpucontainer::mount
