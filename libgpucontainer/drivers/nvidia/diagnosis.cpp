// SPDX-License-Identifier: MIT
#include "drivers/nvidia/diagnosis.hpp"

#include "base/try.hpp"
#include "drivers/nvidia/file_causes.hpp"
#include "drivers/nvidia/gpu_causes.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/module_causes.hpp"
#include "drivers/nvidia/stack.hpp"
#include "drivers/nvidia/tegra_causes.hpp"
#include "drivers/wsl.hpp"

#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::DriverStack;

namespace {

bool has_driven_gpus(const DriverStack& driver)
{
    return driver.version_source != model::VersionSource::files && !driver.gpus.empty();
}

} // namespace

Result<std::optional<DriverStack>> without_files(const Sources& sources)
{
    const std::optional<DriverStack> none;
    GPUCTR_TRY(const auto loaded, module_version(sources.system_root));
    if (!loaded)
        return none;
    GPUCTR_TRY(Gpus gpus, driven_gpus(sources.system_root, sources.pci));
    if (gpus.gpus.empty())
        return none;
    DriverStack stack = new_stack(sources);
    stack.version = *loaded;
    stack.visible_devices = variables(model::VisibleDevices::Inside::uuid);
    stack.gpus = std::move(gpus.gpus);
    stack.findings = std::move(gpus.findings);
    GPUCTR_TRY(search::Nodes nodes, device_nodes(sources.system_root, sources.dev_root, stack.gpus,
                                                 sources.pci, gpus.rights, stack.findings));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    return std::optional(std::move(stack));
}

Result<void> add_host_causes(const Sources& sources, const DriverStack* driver,
                             model::Causes& causes)
{
    if (driver != nullptr && wsl::is_of_windows(*driver)) {
        wsl::add_causes(*driver, causes);
        return {};
    }
    GPUCTR_TRY(const bool has_own_gpu, add_tegra_causes(sources, driver, causes));
    GPUCTR_CHECK(add_gpu_causes(sources, driver, has_own_gpu, causes));
    if (has_own_gpu)
        return {};
    std::optional<DriverStack> kernels;
    if (driver == nullptr) {
        GPUCTR_CHECK(add_file_failure(sources, causes));
        GPUCTR_TRY(kernels, without_files(sources));
    } else {
        add_file_causes(*driver, causes);
    }
    const DriverStack* const stack = driver != nullptr ? driver : kernels ? &*kernels : nullptr;
    if (stack == nullptr || !has_driven_gpus(*stack))
        return {};
    add_instance_causes(*stack, causes);
    return add_module_causes(sources, *stack, causes);
}

void add_recorded_causes(const DriverStack& driver, model::Causes& causes)
{
    for (const model::Finding& finding : driver.findings)
        if (finding.code == model::FindingCode::gpu_unusable && finding.object.starts_with("GPU "))
            causes.push_back({finding, model::Stage::bus, model::Blocks::some});
    add_instance_causes(driver, causes);
    if (!wsl::is_of_windows(driver))
        add_file_causes(driver, causes);
}

} // namespace gpucontainer::drivers::nvidia
