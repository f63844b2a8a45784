// SPDX-License-Identifier: MIT
#pragma once

#include "elf/ld_cache_writer.hpp"
#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Notes in the draft if an earlier set-up made the image's loader cache.
void recognise_loader_cache(Draft& draft);

/// The names that add_loader_cache() may add.
std::vector<std::string> loader_cache_paths(const Draft& draft);

/// Adds a loader cache in which our files come first. Errors: rootfs, if something else is in its
/// place.
Result<void> add_loader_cache(Draft& draft);

/// The same with this content.
Result<void> put_loader_cache(Draft& draft, elf::MergedCache merged);

} // namespace gpucontainer::plan
