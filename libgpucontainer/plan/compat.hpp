// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

/// An image's own user space of a newer driver, for hosts with an older kernel module. Programs
/// find libraries by LD_LIBRARY_PATH, then by the loader cache: the order of the cache decides, and
/// the host's libraries cover those that are not used. Nothing of the image is mounted.
namespace gpucontainer::plan {

/// Decides which libraries count, for the parts of the plan that follow. Call look_at_image()
/// before.
void choose_compat(Draft& draft);

} // namespace gpucontainer::plan
