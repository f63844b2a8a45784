// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"
#include "host/driver_root.hpp"

#include <optional>
#include <string>
#include <vector>

/// Windows' GPUs, as Linux under Windows (WSL2) has them: no function on a bus, but one
/// device for all of them, whosever they are, and the user space of Windows' own drivers
/// at paths that it is found by.
namespace gpucontainer::drivers::wsl {

/// Where every program finds what is of no particular release.
inline constexpr const char* library_directory = "/usr/lib/wsl/lib";

/// Number of the device.
inline constexpr KernelPlace kernel_place = {"/sys/class/misc/dxg/dev", KernelPlace::How::content};

/// Version of the kernel's driver of that device; none where it has none.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// The part of a driver of Windows that is for Linux.
struct Package {
    std::string directory; ///< "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_9a1f"
    std::string witness;   ///< The file that tells that it is one.
};

/// Packages whose names begin with `stem` and that have the file `witness`. There may be
/// some of former releases among them: Windows tells which is in use, by the device, to
/// those that load it.
std::vector<Package> packages(const host::DriverRoot& root, const std::string& stem,
                              const std::string& witness);

/// Makes a driver of its files one of Windows: adds the device, as that of one GPU for
/// all of the vendor's, which nothing here tells apart; and the library directory and the
/// packages as data at their own paths, by which their libraries find each other, also
/// for an image with a runtime of its own. Where a container runtime mounted their files
/// one by one, these are what is taken. Errors: driver.
Result<void> add_to(model::DriverStack& stack, const Sources& sources, std::string version,
                    const std::vector<Package>& packages);

} // namespace gpucontainer::drivers::wsl
