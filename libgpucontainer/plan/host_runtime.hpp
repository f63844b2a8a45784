// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Decides whether the host's C library takes the place of the image's, all of it or nothing, and
/// which of the compiler's libraries: the newer ones. That is so only if the request wants it, the
/// chosen files need it, and nothing speaks against it. Errors: those of look_at_image().
Result<void> choose_host_runtime(Draft& draft);

/// Adds what was decided: covers over the image's own files, and directories of character sets.
void add_host_runtime(Draft& draft);

} // namespace gpucontainer::plan
