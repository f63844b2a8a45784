// SPDX-License-Identifier: MIT
#include "runtime/environment.hpp"

#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace gpuctr_cli {
namespace {

/// These have paths of the host, which in the container do not exist or are other files.
constexpr std::array paths_of_the_host = {
    // The dynamic loader and the C library: ld.so(8), iconv(3).
    "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "LD_ORIGIN_PATH", "GCONV_PATH",
    // Compilers, the linker and what looks for libraries for them; modules of CUDA set these.
    "LIBRARY_PATH", "LD_RUN_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH", "CMAKE_PREFIX_PATH", "CMAKE_LIBRARY_PATH", "CMAKE_INCLUDE_PATH",
    "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR",
    // CUDA: nvcc, CMake, PyTorch, JAX; what libcuda loads into every program.
    "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_DIR", "CUDADIR", "CUDA_BIN_PATH", "CUDA_INC_PATH",
    "CUDA_LIB_PATH", "CUDA_INSTALL_PATH", "CUDA_TOOLKIT_ROOT_DIR", "CUDAToolkit_ROOT", "CUDNN_HOME",
    "CUDNN_PATH", "CUDNN_ROOT", "CUDNN_ROOT_DIR", "CUDNN_INCLUDE_DIR", "CUDNN_LIBRARY",
    "CUDNN_LIB_DIR", "NCCL_HOME", "NCCL_ROOT", "NCCL_ROOT_DIR", "NCCL_INCLUDE_DIR", "NCCL_LIB_DIR",
    "NVHPC", "NVHPC_ROOT", "NVHPC_CUDA_HOME", "CUDA_INJECTION32_PATH", "CUDA_INJECTION64_PATH",
    "NVTX_INJECTION32_PATH", "NVTX_INJECTION64_PATH",
    // The same of other vendors.
    "ROCM_PATH", "ROCM_HOME", "HIP_PATH", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "HSA_PATH",
    "HIP_LIB_PATH", "HSA_TOOLS_LIB", "ONEAPI_ROOT", "ZE_ENABLE_ALT_DRIVERS", "GC_KERNEL_PATH",
    "HABANA_PLUGINS_LIB_PATH",
    // Where OpenCL, VA-API, VDPAU, Vulkan, EGL, GBM and OpenGL look for drivers.
    "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH", "LIBVA_DRIVERS_PATH",
    "VDPAU_DRIVER_PATH", "VK_ICD_FILENAMES", "VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES",
    "__EGL_VENDOR_LIBRARY_FILENAMES", "__EGL_VENDOR_LIBRARY_DIRS",
    "__EGL_EXTERNAL_PLATFORM_CONFIG_FILENAMES", "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
    "GBM_BACKENDS_PATH", "LIBGL_DRIVERS_PATH"};

/// Without these, programs would see more GPUs than were chosen for them, or number them
/// differently.
constexpr std::array chooses_gpus = {
    "CUDA_VISIBLE_DEVICES",   "CUDA_DEVICE_ORDER",        "AMD_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",   "HIP_VISIBLE_DEVICES",      "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",       "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    "HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES",   "HLS_MODULE_ID"};

constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

template <std::size_t Size>
bool is_one_of(const std::array<const char*, Size>& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Name and value; the name is empty if the text is not NAME=VALUE.
std::pair<std::string, std::string> split(const std::string& text)
{
    const auto equals = text.find('=');
    if (equals == std::string::npos)
        return {};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

} // namespace

Environment::Environment(bool clean)
{
    if (clean)
        variables_["PATH"] = usual_path;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        auto [name, value] = split(*variable);
        if (name.empty() || (clean && name != "TERM" && !is_one_of(chooses_gpus, name)))
            continue;
        if (is_one_of(paths_of_the_host, name))
            left_out_.push_back(name);
        else
            variables_[name] = std::move(value);
    }
    std::sort(left_out_.begin(), left_out_.end());
}

void Environment::change(const gpucontainer::Variable& change)
{
    const std::string name(change.name());
    const std::string value(change.value());
    if (change.action() == "unset") {
        variables_.erase(name);
        return;
    }
    std::string& current = variables_[name];
    if (change.action() == "set" || current.empty())
        current = value;
    else
        current = change.action() == "prepend" ? value + ":" + current : current + ":" + value;
}

void Environment::assign(const std::vector<std::string>& given)
{
    for (const std::string& text : given) {
        auto [name, value] = split(text);
        if (name.empty())
            throw gpucontainer::Error(GPUCTR_E_USAGE, "--setenv " + text + ": not NAME=VALUE", "",
                                      0, {}, "setenv");
        variables_[name] = std::move(value);
    }
}

std::vector<std::string> Environment::assignments() const
{
    std::vector<std::string> all;
    all.reserve(variables_.size());
    for (const auto& [name, value] : variables_)
        all.push_back(formatted("{}={}", name, value));
    return all;
}

} // namespace gpuctr_cli
