// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <cstdint>
#include <span>
#include <string_view>

/// Whether a container's driver of Level Zero knows the boards.
namespace gpucontainer::drivers::intel {

/// Boards that a driver of Level Zero knows from some release on.
struct Generation {
    std::string_view name;
    std::uint16_t first; ///< Numbers of PCI devices.
    std::uint16_t last;
    unsigned build; ///< The number of the release, third in the name of its file.
    std::string_view release;
};

/// The generation of a PCI device; null if any release that is in use knows it.
const Generation* generation_of(std::uint16_t device);

/// 33578 of "libze_intel_gpu.so.1.6.33578"; 0 for other names.
unsigned build_of(std::string_view name);

/// Adds GPUs for which the container's driver of Level Zero is too old.
Result<void> check_container(const ContainerToCheck& container, const model::DriverStack& driver,
                             std::span<const model::Gpu> chosen, model::Causes& causes);

} // namespace gpucontainer::drivers::intel
