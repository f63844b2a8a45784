// SPDX-License-Identifier: MIT
#include "drivers/bus_causes.hpp"

#include "base/format.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <sys/stat.h>

namespace gpucontainer::drivers {

using host::PciDevice;
using model::Blocks;
using model::FindingCode;
using model::Stage;

namespace {

constexpr const char* pci_directory = "/sys/bus/pci/devices";

/// A GPU is the first function of its slot. Another one that draws or computes is a virtual one.
bool is_virtual_function(const std::string& system_root, const std::string& address)
{
    if (!address.ends_with(".0"))
        return true;
    struct stat status = {};
    const std::string link = base::format("{}{}/{}/physfn", system_root, pci_directory, address);
    return ::lstat(link.c_str(), &status) == 0;
}

bool is_for_virtual_machines(std::string_view driver)
{
    return driver.find("vfio") != std::string_view::npos || driver == "pci-stub"
           || driver == "xen-pciback";
}

/// How a GPU gets its maker's driver from another one.
std::string way_from(std::string_view driver, std::string_view own)
{
    if (is_for_virtual_machines(driver))
        return base::format("if it is meant for programs of this host, take it from {} and bind it "
                            "to {}",
                            driver, own);
    return base::format("a GPU has one driver: install {}, keep {} from loading (`blacklist {}` in "
                        "/etc/modprobe.d), and reboot",
                        own, driver, driver);
}

} // namespace

std::string gpu_at(std::string_view address) { return base::format("GPU {}", address); }

std::string driver_link_of(std::string_view address)
{
    return base::format("{}/{}/driver", pci_directory, address);
}

Result<std::vector<PciDevice>>
without_own_driver(const BusLook& look, const std::string& system_root, host::Enumerator& pci)
{
    GPUCTR_TRY(auto functions, pci.pci_functions(look.vendor), "find GPUs");
    std::erase_if(functions, [&](const PciDevice& function) {
        return !look.is_gpu(function)
               || std::ranges::find(look.drivers, function.driver) != look.drivers.end()
               || is_virtual_function(system_root, function.address);
    });
    return functions;
}

model::Cause held_by_other(const PciDevice& gpu, std::string_view own, Blocks blocks)
{
    model::Finding finding = {FindingCode::gpu_without_driver, gpu_at(gpu.address), "",
                              driver_link_of(gpu.address)};
    if (gpu.driver.empty()) {
        finding.text = base::format("no kernel driver has it, though {} is loaded", own);
        finding.hint = base::format("{} of this kernel may be older or newer than the board knows: "
                                    "look for its messages in the kernel's log",
                                    own);
    } else if (is_for_virtual_machines(gpu.driver)) {
        finding.text =
            base::format("the kernel driver {} keeps it for a virtual machine", gpu.driver);
        finding.hint = way_from(gpu.driver, own);
    } else {
        finding.text = base::format("the kernel driver {} has it, and not {}", gpu.driver, own);
        finding.hint = way_from(gpu.driver, own);
    }
    return {std::move(finding), Stage::bus, blocks};
}

model::Cause module_not_loaded(std::span<const PciDevice> gpus, std::string_view own)
{
    const PciDevice& first = gpus.front();
    const std::string object = gpus.size() == 1
                                   ? gpu_at(first.address)
                                   : base::format("{} GPUs ({} ...)", gpus.size(), first.address);
    const bool is_held = !first.driver.empty();
    return {{FindingCode::driver_not_loaded, object,
             is_held ? base::format("the kernel module {} is not loaded, and {} has the GPU", own,
                                    first.driver)
                     : base::format("the kernel module {} is not loaded: no kernel driver has the "
                                    "GPU",
                                    own),
             driver_link_of(first.address),
             is_held ? way_from(first.driver, own)
                     : base::format("as root: `modprobe {}`; if that fails, install the driver for "
                                    "the kernel that runs, and look into the kernel's log",
                                    own)},
            Stage::module};
}

} // namespace gpucontainer::drivers
