// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <span>
#include <string>
#include <string_view>

/// Whether what a container has of ROCm is for the GPUs that it gets.
namespace gpucontainer::drivers::amd {

/// "gfx1030" of "10.3.0", the value of HSA_OVERRIDE_GFX_VERSION; "" if it is not one.
std::string overriding_target(std::string_view value);

/// Adds what rocBLAS lacks for the GPUs, and a variable that has them taken for others.
Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::amd
