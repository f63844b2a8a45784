// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"
#include "requirement/evaluation.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace gpucontainer::drivers::nvidia {

/// A branch of the driver, or of Linux for Tegra.
struct Release {
    std::string_view version; ///< First of its branch.
    std::string_view cuda;
    std::string_view least; ///< Lowest compute capability from here on; "": as before.
};
struct Chip {
    std::string_view name;
    std::uint16_t first; ///< Numbers of PCI devices; 0 without any.
    std::uint16_t last;
    std::string_view soc; ///< Instead: its name in the device tree.
    std::string_view arch;
};
/// Brands of the GPUs whose model begins with a text; the first row that fits counts.
struct Brand {
    std::string_view model;
    std::span<const std::string_view> brands;
};

/// A brand's number in NVML.
struct BrandNumber {
    unsigned number;
    std::string_view brand;
    bool compat; ///< A libcuda for older drivers that names no brands supports it.
};
/// A branch of a libcuda for older drivers.
struct CompatRelease {
    std::string_view version;                  ///< Its first branch.
    std::span<const std::string_view> drivers; ///< Branches of the driver that it supports.
};

/// A major release of CUDA, whose programs need no particular minor release of the driver's.
struct CudaMajor {
    std::string_view cuda;
    std::string_view driver; ///< First one that runs them.
};
/// What versions of a package of Python are built for, from this one on.
struct Framework {
    std::string_view package;
    std::string_view version;
    std::string_view cuda;
};

// The tables in facts.yaml, made from it at build time. Versions ascend.
std::span<const Release> releases();
std::span<const Release> platform_releases();
std::span<const Chip> chips();
std::span<const Brand> brands();
std::span<const BrandNumber> brand_numbers();
std::span<const CompatRelease> compat_releases();
std::span<const CudaMajor> cuda_majors();
std::span<const Framework> frameworks();

/// Names of facts in requirements, as NVIDIA's container images have them.
inline constexpr std::array fact_names = {requirement::Name{"cuda"}, requirement::Name{"driver"},
                                          requirement::Name{"arch"},
                                          requirement::Name{"brand", requirement::Kind::word}};

/// Compute capability of a PCI device; "" if the tables do not have it.
std::string_view architecture_of_device(std::uint16_t device);
/// The same of a Tegra: "nvidia,tegra234".
std::string_view architecture_of_soc(std::string_view soc);

/// The version of CUDA that a driver, or Linux for Tegra, supports; "" if that is not known.
struct SupportedCuda {
    std::string_view version;
    bool or_later = false; ///< The tables do not have its branch, which is newer than theirs.
};
SupportedCuda supported_cuda(std::string_view driver_version);

/// The brands that a GPU may be of; none if that is not known.
std::span<const std::string_view> brands_of(const model::Gpu& gpu);

/// Lowest compute capability that a driver supports; "" if every one that is in the tables.
std::string_view least_capability(std::string_view driver_version);
/// The same of the open kernel module, of any version.
inline constexpr std::string_view least_of_open_module = "7.5";
/// The first branch that does not support a compute capability; "" if all do.
std::string_view branch_without(std::string_view architecture);

/// "575" of "575.57.08"
std::string_view branch_of(std::string_view version);

/// What is known of a driver with one of its GPUs, or of the driver alone if that is null.
requirement::Subject facts_of(const model::DriverStack& driver, const model::Gpu* gpu);

} // namespace gpucontainer::drivers::nvidia
