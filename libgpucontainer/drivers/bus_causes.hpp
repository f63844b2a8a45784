// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/cause.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Causes that GPUs of any maker on the PCI bus have in common.
namespace gpucontainer::drivers {

/// "GPU 0000:65:00.0", as detection calls it.
std::string gpu_at(std::string_view address);
/// The link in sysfs to the kernel driver of a PCI function.
std::string driver_link_of(std::string_view address);

/// A maker's GPUs on the bus that none of its own kernel drivers has.
struct BusLook {
    std::uint16_t vendor;
    std::span<const std::string_view> drivers;       ///< Its own.
    bool (*is_gpu)(const host::PciDevice& function); ///< Of the maker's functions.
};
/// Virtual functions are left out: they are for virtual machines, or not in use.
Result<std::vector<host::PciDevice>>
without_own_driver(const BusLook& look, const std::string& system_root, host::Enumerator& pci);

/// What another kernel driver has, such as one that keeps it for virtual machines; if none has it,
/// that nothing drives it. `own` is what should have it: "amdgpu".
model::Cause held_by_other(const host::PciDevice& gpu, std::string_view own, model::Blocks blocks);

/// The kernel module `own` is not loaded, so that nothing, or another driver, has the GPUs. There
/// is at least one.
model::Cause module_not_loaded(std::span<const host::PciDevice> gpus, std::string_view own);

} // namespace gpucontainer::drivers
