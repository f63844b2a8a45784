// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache.hpp"
#include "plan/draft.hpp"

#include <optional>

namespace gpucontainer::plan {

/// The image's loader cache, and the one that takes its place.
class LoaderCache {
public:
    /// Reads the image's own and notes in the draft when it is of our making. One
    /// that is damaged counts as none. Errors: when it cannot be read.
    static Result<LoaderCache> read(Draft& draft);

    /// Adds one in which our files come first. Errors: rootfs, where something
    /// else is in its place.
    Result<void> add_to(Draft& draft) const;

private:
    std::optional<elf::LdCache> old_;
};

} // namespace gpucontainer::plan
