// SPDX-License-Identifier: MIT
#include "drivers/amd/amd.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/amd/catalogue_amd.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/optional_files.hpp"
#include "drivers/wsl.hpp"
#include "elf/symbols.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpucontainer::drivers::amd {

using model::DriverFile;
using model::DriverStack;

namespace {

using Visible = model::VisibleDevices;

constexpr const char* kernel_module = "amdgpu";
constexpr const char* need = "a mounted /sys: ROCm reads there which GPUs there are";

/// A variable that libraries above ROCr read. It counts the GPUs that ROCr's leaves. Its value has
/// positions, which every release reads alike; partitions of a GPU may share a UUID.
Visible above_rocr(const char* name)
{
    Visible variable = {name, Visible::Reader::library, Visible::Inside::position};
    variable.empty_is_unset = true;
    return variable;
}

/// In the order in which they apply. HIP reads CUDA_VISIBLE_DEVICES only if HIP_VISIBLE_DEVICES is
/// unset, and only OpenCL reads GPU_DEVICE_ORDINAL. Schedulers set these two as well, with the
/// host's indexes, so neither decides.
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

/// The parts that do not depend on the kernel driver.
Result<DriverStack> new_stack(const Sources& sources)
{
    DriverStack stack;
    stack.vendor = "amd";
    stack.vendor_name = "AMD";
    stack.root = sources.driver_root.prefix().empty() ? "/" : sources.driver_root.prefix();
    stack.image_directories = {"/opt/rocm/lib", "/opt/rocm/lib64", "/opt/rocm/hip/lib",
                               "/opt/rocm/hsa/lib", "/opt/rocm/opencl/lib"};
    const std::vector<std::string> directories = {
        "/opt/rocm/lib",     "/opt/rocm/lib64",          "/opt/rocm/core-*/lib",
        "/opt/rocm-*/lib",   "/opt/rocm-*/lib64",        "/opt/rocm/hsa/lib",
        "/opt/rocm/hip/lib", "/opt/rocm/opencl/lib",     "/opt/amdgpu/lib/*-linux-gnu",
        "/opt/amdgpu/lib64", "/usr/lib/*-linux-gnu/dri", "/usr/lib64/dri",
        "/usr/lib/dri"};
    GPUCTR_CHECK(add_optional_files(sources, amd_catalogue(), directories, stack));
    // Images of the same release may have "/opt/rocm/core-7.14/lib" without a link to it.
    const std::string& prefix = sources.driver_root.prefix();
    if (base::is_below(stack.library_directory, prefix + "/opt"))
        if (std::string own = stack.library_directory.substr(prefix.size());
            std::ranges::find(stack.image_directories, own) == stack.image_directories.end())
            stack.image_directories.push_back(std::move(own));
    return stack;
}

constexpr const char* windows_thunk = "librocdxg.so.1";
constexpr const char* rocr = "libhsa-runtime64.so.1";

const DriverFile* find_library(const DriverStack& stack, std::string_view soname)
{
    const auto found = std::ranges::find(stack.files, soname, &DriverFile::soname);
    return found == stack.files.end() ? nullptr : &*found;
}

Result<elf::Symbols> calls_of(const host::DriverRoot& root, const DriverFile& library)
{
    GPUCTR_TRY(const auto opened, root.open_file(library.path.substr(root.prefix().size())));
    return elf::read_symbols(opened.fd.get(), "hsaKmt");
}

/// Both libraries pass structures without their sizes, so with another release one writes past
/// their ends.
Result<void> warn_of_releases(const host::DriverRoot& root, const DriverFile& runtime,
                              const DriverFile& thunk, model::Findings& warnings)
{
    GPUCTR_TRY(const auto calls, calls_of(root, runtime), "{}", runtime.path);
    GPUCTR_TRY(const auto answers, calls_of(root, thunk), "{}", thunk.path);
    if (answers.defined.empty())
        return {}; // unknown
    std::vector<std::string> missing;
    std::ranges::set_difference(calls.undefined, answers.defined, std::back_inserter(missing));
    if (!missing.empty())
        warnings.push_back(
            {model::FindingCode::releases_differ, runtime.path,
             base::format("needs {}, which {} does not have: they are of different releases",
                          missing.front(), thunk.path),
             thunk.path, "install both from one release of ROCm", model::Capability::compute});
    return {};
}

/// AMD's GPUs of Windows, as one, if ROCm has what it needs for them.
Result<std::optional<DriverStack>> detect_wsl(const Sources& sources)
{
    GPUCTR_TRY(const auto loaded, wsl::loaded_version(sources.system_root));
    if (!loaded)
        return std::optional<DriverStack>();
    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    const DriverFile* const thunk = find_library(stack, windows_thunk);
    const DriverFile* const runtime = find_library(stack, rocr);
    if (thunk == nullptr || runtime == nullptr)
        return std::optional<DriverStack>();
    stack.needs = {"HSA_ENABLE_DXG_DETECTION=1 in its environment, for ROCm before 7.13"};
    GPUCTR_CHECK(warn_of_releases(sources.driver_root, *runtime, *thunk, stack.findings));
    GPUCTR_CHECK(wsl::add_to(stack, sources, *loaded, {}));
    return std::optional(std::move(stack));
}

/// Without the module, there is no driver here, or GPUs that nothing drives.
Result<std::optional<DriverStack>> without_module(const Sources& sources)
{
    GPUCTR_TRY(const auto undriven, undriven_gpus(sources.pci));
    if (undriven.empty())
        return detect_wsl(sources);
    return Error(Errc::no_device, base::format("the amdgpu kernel module is not loaded, for {}",
                                               base::joined(undriven, ", ")))
        .with_hint("load amdgpu; a GPU bound to another kernel driver is not for containers");
}

/// The module is loaded, but has no GPU.
Result<std::optional<DriverStack>> nothing_driven(const Gpus& gpus, host::Enumerator& pci)
{
    GPUCTR_TRY(const auto others, undriven_gpus(pci));
    return Error(Errc::no_device,
                 base::format("the amdgpu kernel module is loaded but has no GPU for ROCm{}{}",
                              others.empty() ? "" : ", of ", base::joined(others, ", ")))
        .with_hint(gpus.findings.empty() ? "look for amdgpu and kfd messages in the kernel's log"
                                         : gpus.findings.front().message());
}

} // namespace

Result<std::optional<std::string>> loaded_version(const std::string& system_root)
{
    GPUCTR_TRY(auto version, host::loaded_module_version(system_root, kernel_module));
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
    GPUCTR_TRY(const auto loaded, host::loaded_module_version(sources.system_root, kernel_module));
    if (!loaded)
        return without_module(sources);
    GPUCTR_TRY(Gpus gpus, driven_gpus(sources.system_root, sources.pci));
    if (gpus.gpus.empty())
        return nothing_driven(gpus, sources.pci);

    GPUCTR_TRY(DriverStack stack, new_stack(sources));
    stack.version = *loaded;
    stack.visible_devices = visible_devices();
    stack.needs = {need};
    stack.gpus = std::move(gpus.gpus);
    stack.library_order = std::move(gpus.library_order);
    std::ranges::move(gpus.findings, std::back_inserter(stack.findings));
    GPUCTR_TRY(search::Nodes nodes, device_nodes(sources.system_root, sources.dev_root,
                                                 std::move(gpus.nodes), stack.findings));
    stack.nodes = std::move(nodes.nodes);
    stack.missing_nodes = std::move(nodes.missing);
    return std::optional(std::move(stack));
}

} // namespace gpucontainer::drivers::amd
