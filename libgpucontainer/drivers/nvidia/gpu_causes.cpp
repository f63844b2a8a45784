// SPDX-License-Identifier: MIT
#include "drivers/nvidia/gpu_causes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/bus_causes.hpp"
#include "drivers/nvidia/facts.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/lost.hpp"
#include "drivers/nvidia/mig.hpp"
#include "drivers/nvidia/proc_text.hpp"
#include "requirement/evaluation.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <optional>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {

using model::Blocks;
using model::Cause;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

/// The last two are those of a Tegra's own GPU.
constexpr std::array<std::string_view, 3> drivers_of_gpus = {"nvidia", "nvgpu", "gk20a"};
constexpr std::string_view loaded_module = drivers_of_gpus.front();

/// A board that the loaded module does not know; none if it should.
std::optional<Cause> unknown_board(const host::PciDevice& gpu, const std::string& version,
                                   bool is_open)
{
    const std::string_view architecture = architecture_of_device(gpu.device_id);
    if (architecture.empty())
        return std::nullopt;
    model::Finding finding = {FindingCode::gpu_without_driver, gpu_at(gpu.address), "",
                              base::format("/sys/bus/pci/devices/{}/device", gpu.address)};
    const auto is_before = [&](std::string_view least) {
        return !least.empty() && std::is_lt(requirement::compare(architecture, least));
    };
    if (const std::string_view least = least_capability(version); is_before(least)) {
        finding.text = base::format("driver {} no longer knows the board: its compute capability "
                                    "is {}, and this branch has drivers for {} and later",
                                    version, architecture, least);
        finding.hint = base::format("install a driver before {}", branch_without(architecture));
    } else if (is_open && is_before(least_of_open_module)) {
        finding.text = base::format("the loaded module is the open one, which drives boards of "
                                    "compute capability {} and later; this one has {}",
                                    least_of_open_module, architecture);
        finding.hint = "install the driver with its proprietary kernel module";
    } else {
        return std::nullopt;
    }
    return Cause{std::move(finding), Stage::bus, Blocks::some};
}

Cause excluded(const std::string& address, const std::string& path)
{
    return {{FindingCode::gpu_excluded, gpu_at(address), "the driver was told to exclude it", path,
             "take it out of the option NVreg_ExcludedGpus (NVreg_GpuBlacklist) of the module "
             "nvidia, in /etc/modprobe.d or on the kernel's command line, and reboot"},
            Stage::module,
            Blocks::some};
}

Cause fallen_off(const std::string& address)
{
    return {
        {FindingCode::gpu_off_bus, gpu_at(address),
         "it has fallen off the bus: nothing answers at its address",
         base::format("/sys/bus/pci/devices/{}/config", address),
         "look for `Xid 79` in the kernel's log; a reset or reboot may bring it back, else look "
         "at power, heat and the slot"},
        Stage::bus,
        Blocks::some};
}

/// GPUs that the module lists and programs cannot use. Returns how many others there are.
Result<std::size_t> add_listed(const std::string& system_root, model::Causes& causes)
{
    constexpr std::size_t most_gpus = 256;
    const std::string directory = "/proc/driver/nvidia/gpus";
    const auto names = base::list_directory(AT_FDCWD, system_root + directory, most_gpus);
    std::size_t usable = 0;
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
        const std::string address = base::to_lower(name);
        const std::string path = base::format("{}/{}/information", directory, name);
        const auto text = base::read_file(system_root + path);
        if (text && fields(*text)["GPU Excluded"] == "Yes")
            causes.push_back(excluded(address, path));
        else if (host::is_pci_address(address) && has_fallen_off_bus(system_root, address))
            causes.push_back(fallen_off(address));
        else
            ++usable;
    }
    return usable;
}

/// Those that are bound to the module and have no entry in its list, as when it lists none. The
/// bus still tells whether they answer.
void add_unlisted(const std::string& system_root, host::Enumerator& pci, model::Causes& causes)
{
    const auto gpus = pci.functions_of_driver(std::string(loaded_module), pci_vendor);
    for (const host::PciDevice& gpu : gpus ? *gpus : std::vector<host::PciDevice>())
        if (host::is_display_controller(gpu) && has_fallen_off_bus(system_root, gpu.address))
            causes.push_back(fallen_off(gpu.address));
}

} // namespace

Result<void> add_gpu_causes(const Sources& sources, const DriverStack* driver, bool has_tegra,
                            model::Causes& causes)
{
    GPUCTR_TRY(const auto loaded, module_version(sources.system_root));
    GPUCTR_TRY(const auto others,
               without_own_driver({pci_vendor, drivers_of_gpus, host::is_display_controller},
                                  sources.system_root, sources.pci));
    model::Causes found;
    if (!loaded) {
        // A Tegra's own GPU may be on a bus too, and needs no module for cards.
        if (!others.empty() && !has_tegra)
            causes.push_back(module_not_loaded(others, loaded_module));
        return {};
    }
    const bool is_open = is_open_module(sources.system_root);
    for (const host::PciDevice& gpu : others) {
        auto unknown =
            gpu.driver.empty() ? unknown_board(gpu, *loaded, is_open) : std::optional<Cause>();
        found.push_back(unknown ? *std::move(unknown)
                                : held_by_other(gpu, loaded_module, Blocks::some));
    }
    GPUCTR_TRY(const std::size_t usable, add_listed(sources.system_root, found));
    if (usable == 0 && found.empty())
        add_unlisted(sources.system_root, sources.pci, found);
    const bool has_usable = usable > 0 || has_tegra || (driver != nullptr && driver->gpus.empty());
    for (Cause& cause : found) {
        cause.blocks = has_usable ? Blocks::some : Blocks::all;
        causes.push_back(std::move(cause));
    }
    return {};
}

void add_instance_causes(const DriverStack& driver, model::Causes& causes)
{
    for (const model::Finding& finding : driver.findings) {
        if (finding.code != FindingCode::gpu_unusable
            || !base::is_below(finding.evidence, capabilities))
            continue;
        model::Finding told = finding;
        told.code = FindingCode::instance_incomplete;
        if (told.evidence.find("/ci") == std::string::npos) { // a GPU instance without any
            told.text += ": nothing can run on it";
            told.evidence += "/ci0/access";
            told.hint = "`nvidia-smi mig -cci` as root makes one";
        }
        causes.push_back({std::move(told), Stage::visible, Blocks::some});
    }
}

} // namespace gpucontainer::drivers::nvidia
