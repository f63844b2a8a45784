// SPDX-License-Identifier: MIT
#pragma once

#include "mount/kernel.hpp"

namespace gpucontainer::mount {

/// What is needed to make mounts. It may be copied, also into a child.
struct Bench {
    Backend backend = Backend::detached;
    /// For backends whose mounts are never detached: a directory that nobody else reaches, where
    /// mounts are made before they are moved to their place.
    int scratch = -1;
};

} // namespace gpucontainer::mount
