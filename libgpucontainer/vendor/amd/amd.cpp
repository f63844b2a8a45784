// SPDX-License-Identifier: MIT
#include "vendor/amd/amd.hpp"

#include "base/try.hpp"
#include "vendor/amd/catalogue_amd.hpp"
#include "vendor/amd/kernel.hpp"
#include "vendor/kernel_files.hpp"
#include "vendor/optional_files.hpp"

#include <fmt/format.h>
#include <utility>

namespace gpucontainer::vendor::amd {
namespace {

using Visible = VisibleDevices;

/// A variable of what is above ROCr, which counts in what that leaves. Partitions of a
/// GPU may share a UUID; positions mean the same to each release.
Visible above_rocr(const char* name)
{
    Visible variable = {name, Visible::Reader::library, Visible::Inside::position};
    variable.empty_is_unset = true;
    return variable;
}

/// In the order of obeying. Only where HIP_VISIBLE_DEVICES is not set HIP reads
/// CUDA_VISIBLE_DEVICES, and GPU_DEVICE_ORDINAL is OpenCL's alone. Schedulers set the
/// latter two besides, with the host's indexes: neither decides.
std::vector<Visible> visible_devices()
{
    Visible of_cuda = above_rocr("CUDA_VISIBLE_DEVICES");
    of_cuda.decides = false;
    of_cuda.preferred = "HIP_VISIBLE_DEVICES";
    Visible of_opencl = above_rocr("GPU_DEVICE_ORDINAL");
    of_opencl.decides = false;
    return {{"AMD_VISIBLE_DEVICES", Visible::Reader::runtime, Visible::Inside::nothing},
            {"ROCR_VISIBLE_DEVICES", Visible::Reader::library, Visible::Inside::position},
            of_cuda,
            of_opencl,
            above_rocr("HIP_VISIBLE_DEVICES")};
}

/// No driver here, or GPUs that nothing drives.
Result<std::optional<DriverStack>> without_module(const Sources& sources)
{
    GPUCTR_TRY(const auto undriven, undriven_gpus(sources.pci));
    if (undriven.empty())
        return std::optional<DriverStack>();
    return Error(Errc::no_device, fmt::format("the amdgpu kernel module is not loaded, for {}",
                                              fmt::join(undriven, ", ")))
        .with_hint("load amdgpu; a GPU bound to another kernel driver is not for containers");
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    return loaded_module_version(system_root, "amdgpu");
}

Result<std::optional<DriverStack>> detect(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, loaded_version(sources.system_root));
    if (!loaded)
        return without_module(sources);
    GPUCTR_TRY(Gpus gpus, driven_gpus(sources.system_root, sources.pci));
    if (gpus.gpus.empty())
        return Error(Errc::no_device, "the amdgpu kernel module is loaded but has no GPU for ROCm")
            .with_hint(gpus.skipped.empty() ? "look for amdgpu and kfd messages in the kernel's log"
                                            : fmt::format("{}: {}", gpus.skipped.front().name,
                                                          gpus.skipped.front().reason));

    DriverStack stack;
    stack.vendor = "amd";
    stack.vendor_name = "AMD";
    stack.version = *loaded;
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    stack.visible_devices = visible_devices();
    stack.needs = {"a mounted /sys: ROCm reads there which GPUs there are"};
    stack.image_directories = {"/opt/rocm/lib", "/opt/rocm/lib64", "/opt/rocm/hip/lib",
                               "/opt/rocm/hsa/lib", "/opt/rocm/opencl/lib"};
    stack.gpus = std::move(gpus.gpus);
    stack.library_order = std::move(gpus.library_order);
    stack.skipped = std::move(gpus.skipped);
    const std::vector<std::string> directories = {
        "/opt/rocm/lib",     "/opt/rocm/lib64",          "/opt/rocm/core-*/lib",
        "/opt/rocm-*/lib",   "/opt/rocm-*/lib64",        "/opt/rocm/hsa/lib",
        "/opt/rocm/hip/lib", "/opt/rocm/opencl/lib",     "/opt/amdgpu/lib/*-linux-gnu",
        "/opt/amdgpu/lib64", "/usr/lib/*-linux-gnu/dri", "/usr/lib64/dri",
        "/usr/lib/dri"};
    GPUCTR_CHECK(add_optional_files(sources, amd_catalogue(), directories, stack));
    GPUCTR_TRY(Nodes nodes, device_nodes(sources.system_root, sources.dev_root,
                                         std::move(gpus.nodes), stack.skipped));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::vendor::amd
