// SPDX-License-Identifier: MIT
#pragma once

#include "mount/kernel.hpp"

namespace gpucontainer::mount {

/// With what mounts are made. A value that may be copied into a child.
struct Bench {
    Backend backend = Backend::detached;
    /// For the legacy backend: a directory that nobody else reaches, where mounts are
    /// made before they are moved to where they belong.
    int scratch = -1;
    unsigned next = 0; ///< Name of the next mount there.
};

} // namespace gpucontainer::mount
