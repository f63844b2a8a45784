// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// CUDA forward compatibility: NVIDIA's packages cuda-compat put the libcuda of a newer driver into
/// an image. With others than data-centre GPUs, and with branches of the kernel module that it does
/// not know, it fails.
namespace gpucontainer::drivers::nvidia {

/// The note that NVIDIA writes into such a libcuda since 575.
struct CompatNote {
    std::string cuda;
    std::vector<unsigned> drivers; ///< Branches; none: it is for a Tegra.
    std::vector<unsigned> brands;  ///< By their numbers.
};

/// Reads a note, which may be hostile. None if it is of another form.
std::optional<CompatNote> parse_compat_note(std::string_view text);

std::vector<std::string> compat_directories(const model::DriverStack& driver);

CompatVerdict judge_compat(const model::DriverStack& driver, std::span<const model::Gpu> chosen,
                           const CompatLibrary& library);

/// As the hook of NVIDIA's toolkit decides: by the note in the library, else by the major numbers
/// of the drivers.
CompatVerdict judge_compat_for_hook(const cdi::CompatTask& task, const CompatLibrary& library);

inline constexpr std::array<std::string_view, 10> compat_libraries = {
    "libcuda.so",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-nvvm.so.4",
    "libnvidia-nvvm70.so.4",
    "libcudadebugger.so.1",
    "libnvidia-gpucomp.so.{version}",
    "libnvidia-tileiras.so.{version}",
    "libnvidia-pkcs11.so.{version}",
    "libnvidia-pkcs11-openssl3.so.{version}",
    "libnvidia-sandboxutils.so.1"};

inline constexpr Compat compat = {"libcuda.so.1",     "NVIDIA Corporation", compat_libraries,
                                  compat_directories, judge_compat,         judge_compat_for_hook};

} // namespace gpucontainer::drivers::nvidia
