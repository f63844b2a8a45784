// SPDX-License-Identifier: MIT
#include "drivers/intel/diagnosis.hpp"

#include "base/try.hpp"
#include "drivers/bus_causes.hpp"
#include "drivers/intel/kernel.hpp"
#include "drivers/wsl.hpp"

#include <array>

namespace gpucontainer::drivers::intel {

using model::Blocks;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::array<std::string_view, 2> own_drivers = {"i915", "xe"};

} // namespace

Result<void> add_host_causes(const Sources& sources, const DriverStack* driver,
                             model::Causes& causes)
{
    if (driver != nullptr && wsl::is_of_windows(*driver)) {
        wsl::add_causes(*driver, causes);
        return {};
    }
    GPUCTR_TRY(const auto others,
               without_own_driver({pci_vendor, own_drivers, host::is_display_controller},
                                  sources.system_root, sources.pci));
    for (const host::PciDevice& gpu : others) {
        model::Cause cause =
            held_by_other(gpu, "i915 or xe", driver == nullptr ? Blocks::all : Blocks::some);
        if (gpu.driver.empty()) {
            // Both load by themselves for the boards that they know.
            cause.finding.text = "no kernel driver has it: i915 and xe of this kernel do not know "
                                 "the board, or are kept from loading";
            cause.finding.hint = "use a newer kernel, or the driver for it from Intel's packages; "
                                 "look for i915 and xe in the kernel's log";
        }
        causes.push_back(std::move(cause));
    }
    if (driver == nullptr)
        return {};
    for (const model::Finding& finding : driver->findings)
        if (finding.code == FindingCode::compute_node_unusable)
            causes.push_back(
                {finding, Stage::init, driver->gpus.size() > 1 ? Blocks::some : Blocks::all});
    return {};
}

} // namespace gpucontainer::drivers::intel
