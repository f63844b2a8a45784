// SPDX-License-Identifier: MIT
#include "drivers/intel/intel.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "drivers/intel/catalogue_intel.hpp"
#include "drivers/intel/kernel.hpp"
#include "drivers/optional_files.hpp"
#include "drivers/wsl.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpucontainer::drivers::intel {

using model::DriverStack;
using model::VisibleDevices;

namespace {

constexpr const char* need = "a mounted /sys: Level Zero and OpenCL read it";

Error nothing_driven(bool is_loaded, const model::Findings& others)
{
    std::string hint;
    for (const model::Finding& other : others)
        hint += base::format("{}{}", hint.empty() ? "" : "; ", other.message());
    return Error(Errc::no_device, is_loaded ? "the kernel module is loaded but drives no Intel GPU"
                                            : "no kernel module, i915 or xe, is loaded")
        .with_hint(std::move(hint));
}

/// Level Zero's mask. By default it counts tiles, and integrated GPUs last. Settings make it count
/// whole GPUs, or by PCI address.
VisibleDevices affinity_mask()
{
    return {"ZE_AFFINITY_MASK",
            VisibleDevices::Reader::filter,
            VisibleDevices::Inside::position,
            "",
            false,
            "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE",
            "ZE_ENABLE_PCI_ID_DEVICE_ORDER=1"};
}

Result<std::optional<std::string>> module_version(const std::string& system_root)
{
    GPUCTR_TRY(auto version, host::loaded_module_version(system_root, "i915"));
    if (version)
        return version;
    return host::loaded_module_version(system_root, "xe");
}

/// The parts that do not depend on the kernel driver.
Result<DriverStack> new_stack(const Sources& sources)
{
    DriverStack stack;
    stack.vendor = "intel";
    stack.vendor_name = "Intel";
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    stack.image_directories = {"/usr/lib/x86_64-linux-gnu/intel-opencl", "/usr/lib64/intel-opencl",
                               "/usr/lib/intel-opencl"};
    // OpenCL's driver is found by its path, and VA-API's by its directory.
    const std::vector<std::string> directories = {
        "/usr/lib/*-linux-gnu/intel-opencl", "/usr/lib64/intel-opencl", "/usr/lib/intel-opencl",
        "/usr/lib/*-linux-gnu/dri",          "/usr/lib64/dri",          "/usr/lib/dri"};
    GPUCTR_CHECK(add_optional_files(sources, intel_catalogue(), directories, stack));
    return stack;
}

/// Intel's GPUs of Windows, as one, which the mask counts. The runtime for Linux loads the memory
/// manager and compiler of Windows.
Result<std::optional<DriverStack>> detect_wsl(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, wsl::loaded_version(sources.system_root));
    const auto packages = loaded ? wsl::packages(sources.driver_root, "iigd", "libigdgmm_w.so.12")
                                 : std::vector<wsl::Package>();
    if (packages.empty())
        return std::optional<DriverStack>();
    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    GPUCTR_CHECK(wsl::add_to(stack, sources, *loaded, packages));
    return std::optional(std::move(stack));
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    GPUCTR_TRY(auto version, module_version(system_root));
    if (version)
        return version;
    return wsl::loaded_version(system_root);
}

Result<DriverStack> files_alone(const Sources& sources)
{
    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    stack.needs = {need};
    return without_gpus(std::move(stack));
}

Result<std::optional<DriverStack>> detect(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, module_version(sources.system_root));
    GPUCTR_TRY(Gpus found, find_gpus(sources.system_root, sources.dev_root, sources.pci));
    GPUCTR_TRY(auto others, undriven(sources.pci, found));
    if (found.gpus.empty() && others.empty())
        return detect_wsl(sources); // a module may be loaded without a GPU
    if (found.gpus.empty())
        return nothing_driven(loaded.has_value(), others);
    if (!loaded)
        return Error(Errc::driver, "i915 or xe drives GPUs, but neither is a loaded module");

    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    stack.version = *loaded;
    stack.visible_devices = {affinity_mask()};
    stack.needs = {need};
    stack.gpus = std::move(found.gpus);
    std::ranges::move(found.findings, std::back_inserter(stack.findings));
    std::ranges::move(others, std::back_inserter(stack.findings));
    search::Nodes nodes;
    for (const search::WantedNode& wanted : found.wanted)
        GPUCTR_CHECK(
            search::add_node(sources.system_root, sources.dev_root, wanted, nodes, stack.findings));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers::intel
