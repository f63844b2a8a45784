// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// The hooks that nvidia-ctk writes into specifications, by their arguments.
Result<std::optional<cdi::HookTask>> task_of(const cdi::Hook& hook);

inline constexpr CdiHooks cdi_hooks = {task_of, mask_parameters, "/dev/nvidia", profile_path,
                                       profile};

} // namespace gpucontainer::drivers::nvidia
