// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/nvidia/image_causes.hpp"
#include "drivers/vendor.hpp"

#include <optional>

namespace gpucontainer::drivers::nvidia {

/// Why programs cannot use GPUs of this host, beyond what device nodes tell.
Result<void> add_host_causes(const Sources& sources, const model::DriverStack* driver,
                             model::Causes& causes);

/// GPUs and nodes of the loaded module, without files. None if it is not loaded or lists no GPU.
Result<std::optional<model::DriverStack>> without_files(const Sources& sources);

/// What a recorded driver tells about its GPUs.
void add_recorded_causes(const model::DriverStack& driver, model::Causes& causes);

inline constexpr Diagnosis diagnosis = {add_host_causes, check_container, without_files,
                                        add_recorded_causes};

} // namespace gpucontainer::drivers::nvidia
