// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.h>

#include "base/result.hpp"
#include "vendor/driver.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::capi {

/// gpuctr_host_options, checked and owned.
struct Detection {
    std::uint32_t vendors = 0; ///< GPUCTR_VENDOR_*
    std::string driver_root;
    std::string driver_version; ///< Empty: ask the kernel.
    std::vector<std::string> catalogues;
    std::string catalogue_directory; ///< Empty: none.
    std::string dev_root;            ///< Empty: the usual one.
    bool files_alone = false;        ///< Of a vendor asked for that has no GPU here.
};

/// What a detection found.
struct Detected {
    std::vector<vendor::DriverStack> drivers;
    /// Vendors that nobody asked for and that failed; the class of the first one.
    std::vector<vendor::Skipped> skipped;
    Errc failure = Errc::no_device;
};

Result<Detection> read_detection(const gpuctr_host_options* options);

/// The drivers of this host; an error where a vendor asked for has none.
Result<Detected> detect(const Detection& detection);

/// No vendor of those asked for is missing, or without GPUs unless that will do.
Result<void> require_vendors(const Detection& detection,
                             const std::vector<vendor::DriverStack>& drivers);

/// Every source and node of recorded drivers is one that this host's own
/// detection yields as well; asked before anything of them is carried out. None
/// to do for drivers that were detected. Errors: driver, naming what is not.
Result<void> prove(const std::vector<vendor::DriverStack>& drivers,
                   const std::optional<Detection>& unproven);

/// The GPUCTR_VENDOR_* bit of a vendor's name.
std::uint32_t vendor_bit(std::string_view name);

} // namespace gpucontainer::capi
