// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/diagnosis.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What a container has of ROCm, and rocBLAS in it, whose kernels are files with their targets in
/// their names.
namespace gpucontainer::drivers::amd {

/// The variable that names another directory of kernels.
inline constexpr const char* kernels_variable = "ROCBLAS_TENSILE_LIBPATH";

/// The value of a variable; "" if it is not set.
std::string variable_of(const ContainerToCheck& container, const char* name);

/// The targets of a file with kernels, "gfx90a" of "Kernels.so-000-gfx90a-xnack+.hsaco"; "" if its
/// name has none. A generic one, such as "gfx11-generic", is whole.
std::string_view target_in(std::string_view name);

/// The first number of a target, by which instruction sets differ: "gfx9", "gfx10", "gfx11".
std::string_view family_of(std::string_view target);

/// Whether code for a target runs on a GPU of an architecture, "gfx942".
bool runs_on(std::string_view target, std::string_view architecture);

/// A rocBLAS of a container.
struct RocBlas {
    std::string kernels;    ///< The directory where it looks for them.
    bool is_loaded = false; ///< Or would be, if the program could be started.
    bool has_kernels = false;
    std::set<std::string> targets;
};

/// Directories with a release of ROCm, "/opt/rocm-6.4.1". A link to one is not another one.
std::vector<std::string> rocm_homes(const rootfs::View& view);

/// Each once: beside those that the program loads, in ROCm's directories, and in packages of
/// Python.
std::vector<RocBlas> find_rocblas(const ContainerToCheck& container);

} // namespace gpucontainer::drivers::amd
