// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Chooses the files of all drivers: those of the capabilities that are wanted. Optional
/// ones come with what they need and as a whole: neutral libraries where the image
/// lacks them, and none of them where it brings a runtime of its own or is too old,
/// unless the host's were asked for. Errors: requirement, for an image that is too old
/// for files that were asked for; rootfs, where it has no place for libraries.
Result<void> choose_files(Draft& draft);

} // namespace gpucontainer::plan
