// SPDX-License-Identifier: MIT
#include "drivers/habana/habana.hpp"

#include "base/try.hpp"
#include "drivers/habana/catalogue_habana.hpp"
#include "drivers/habana/kernel.hpp"
#include "drivers/optional_files.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpucontainer::drivers::habana {

using model::DriverStack;
using model::VisibleDevices;

namespace {

/// Two lists of a container runtime, by the numbers of nodes and by slots, and the slot of a
/// process. Programs count the accelerators whose slots they are told; otherwise they look for
/// those of a whole machine.
std::vector<VisibleDevices> variables(const std::string& prefix)
{
    using Reader = VisibleDevices::Reader;
    using Inside = VisibleDevices::Inside;
    const std::string slot = "module-";
    return {{"HABANA_VISIBLE_DEVICES", Reader::runtime, Inside::name, prefix},
            {"HABANA_VISIBLE_MODULES", Reader::runtime, Inside::name, slot, true},
            {"HLS_MODULE_ID", Reader::process, Inside::name, slot, true}};
}

/// The parts that do not depend on the kernel driver.
Result<DriverStack> new_stack(const Sources& sources)
{
    DriverStack stack;
    stack.vendor = "habana";
    stack.vendor_name = "Intel Gaudi";
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    const std::vector<std::string> directories = {"/usr/lib/habanalabs"};
    stack.image_directories = directories;
    GPUCTR_CHECK(add_optional_files(sources, habana_catalogue(), directories, stack));
    return stack;
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    return host::loaded_module_version(system_root, "habanalabs");
}

Result<DriverStack> files_alone(const Sources& sources)
{
    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    return without_gpus(std::move(stack));
}

Result<std::optional<DriverStack>> detect(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, loaded_version(sources.system_root));
    GPUCTR_TRY(Accelerators found, find_accelerators(sources.system_root, sources.pci));
    if (found.gpus.empty()) {
        GPUCTR_TRY(const std::string others, undriven(sources.pci));
        if (others.empty() && !loaded)
            return std::optional<DriverStack>();
        return Error(Errc::no_device, loaded
                                          ? "the kernel module habanalabs is loaded but drives no "
                                            "Gaudi accelerator"
                                          : "the kernel module habanalabs is not loaded")
            .with_hint(others.empty() ? "look for habanalabs in the kernel's log" : others);
    }
    if (!loaded)
        return Error(Errc::driver, "habanalabs drives accelerators, but is not a loaded module");

    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    stack.version = *loaded;
    stack.visible_devices = variables(found.prefix);
    stack.gpus = std::move(found.gpus);
    std::ranges::move(found.findings, std::back_inserter(stack.findings));
    search::Nodes nodes;
    for (const search::WantedNode& wanted : found.wanted)
        GPUCTR_CHECK(
            search::add_node(sources.system_root, sources.dev_root, wanted, nodes, stack.findings));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers::habana
