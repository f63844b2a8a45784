// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Whether what a container has of ROCm is for the GPUs that it gets.
namespace gpucontainer::drivers::amd {

/// The targets of a file with kernels, "gfx90a" of "Kernels.so-000-gfx90a-xnack+.hsaco"; "" if its
/// name has none. A generic one, such as "gfx11-generic", is whole.
std::string_view target_in(std::string_view name);

/// Whether code for a target runs on a GPU of an architecture, "gfx942".
bool runs_on(std::string_view target, std::string_view architecture);

/// "gfx1030" of "10.3.0", the value of HSA_OVERRIDE_GFX_VERSION; "" if it is not one.
std::string overriding_target(std::string_view value);

/// Adds what rocBLAS lacks for the GPUs, and a variable that has them taken for others.
Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::amd
