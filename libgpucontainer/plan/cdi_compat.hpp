// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/hook_task.hpp"
#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Decides whether programs find the image's own user space of a newer driver, by what the hook
/// says about the host. Unlike choose_compat(), it does not know the GPUs.
void choose_image_driver(Draft& draft, const cdi::CompatTask& task);

} // namespace gpucontainer::plan
