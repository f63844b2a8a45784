// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <span>

namespace gpucontainer::drivers::nvidia {

/// Adds GPUs for which the program, or a framework of Python in the container, has no code.
void check_code(const ContainerToCheck& container, const model::DriverStack& driver,
                std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
