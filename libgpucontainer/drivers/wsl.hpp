// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"
#include "host/driver_root.hpp"

#include <optional>
#include <string>
#include <vector>

/// Windows' GPUs, as Linux under Windows (WSL2) sees them. They are not on a bus: one device is for
/// all of them, of any vendor. The user space is part of Windows' own drivers, at fixed paths.
namespace gpucontainer::drivers::wsl {

/// Where every program finds the libraries that belong to no particular release.
inline constexpr const char* library_directory = "/usr/lib/wsl/lib";

/// The device number.
inline constexpr KernelPlace kernel_place = {"/sys/class/misc/dxg/dev", KernelPlace::How::content};

/// Version of the kernel driver of that device; none if there is no such driver.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// The part of a Windows driver that is for Linux.
struct Package {
    std::string directory; ///< "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_9a1f"
    std::string witness;   ///< The file that shows that it is one.
};

/// Packages whose names begin with `stem` and that have the file `witness`. Some may be of earlier
/// releases. Only the device tells which one Windows uses, to the library that loads it.
std::vector<Package> packages(const host::DriverRoot& root, const std::string& stem,
                              const std::string& witness);

/// Adds what a driver under Windows has besides its files:
/// - the device, as that of one GPU, which stands for all of the vendor's: nothing here tells them
///   apart.
/// - the library directory and the packages, as data at their own paths, by which their libraries
///   find each other. An image with its own runtime gets them too. If a container runtime mounted
///   their files one by one, the files are added instead.
/// Errors: driver.
Result<void> add_to(model::DriverStack& stack, const Sources& sources, std::string version,
                    const std::vector<Package>& packages);

/// Whether add_to() made it.
bool is_of_windows(const model::DriverStack& driver);

/// Adds what of Windows is missing that all programs with a GPU need.
void add_causes(const model::DriverStack& driver, model::Causes& causes);

} // namespace gpucontainer::drivers::wsl
