// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Chooses the files of all drivers for the requested capabilities.
///
/// Optional files are chosen together with what they need. Neutral libraries are added only if the
/// image lacks them. If the image has its own runtime, or is too old, none is chosen, unless the
/// host's files were requested. Errors: requirement, if the image is too old for requested files;
/// rootfs, if it has no place for libraries.
Result<void> choose_files(Draft& draft);

} // namespace gpucontainer::plan
