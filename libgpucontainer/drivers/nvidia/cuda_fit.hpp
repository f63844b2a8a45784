// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"
#include "drivers/nvidia/image_cuda.hpp"

#include <span>
#include <string>
#include <string_view>

/// Whether a driver runs what was built for a version of CUDA.
namespace gpucontainer::drivers::nvidia {

/// The first version of the driver that runs programs of a version of CUDA, "13.0"; "" if that is
/// not known.
std::string_view driver_for_cuda(std::string_view cuda);

/// Whether a driver is too old for programs of a version of CUDA. `own` is the version that the
/// container's own user space of a newer driver supports; "" if it has none. False if it is not
/// known.
bool is_too_old(const model::DriverStack& driver, std::string_view cuda, std::string_view own);

/// The version of CUDA that the container's own user space of a newer driver supports; "" if it has
/// none, or none that works with this driver and these GPUs.
std::string own_cuda(const ContainerToCheck& container, const model::DriverStack& driver,
                     std::span<const model::Gpu> chosen);

/// Adds what needs a newer driver.
void check_cuda(const ContainerToCheck& container, const model::DriverStack& driver,
                std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
