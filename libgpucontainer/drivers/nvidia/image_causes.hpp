// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <span>

namespace gpucontainer::drivers::nvidia {

/// Adds why a container does not fit the driver and the chosen GPUs.
Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
