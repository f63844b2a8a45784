// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/options.hpp"
#include "drivers/registry.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::detect {

/// The result of a detection.
struct Detected {
    std::vector<model::DriverStack> drivers;
    /// Vendors that nobody asked for and whose detection failed, with the class of the first
    /// failure.
    model::Findings findings;
    Errc failure = Errc::no_device;
};

/// Checks the options themselves. Unknown vendors are found later, because a site's files may
/// describe them. Errors: usage.
Result<void> check(const Detection& detection);

/// Reads the site's files, and finds out which vendors there are with them.
Result<drivers::Site> read_site(const Detection& detection);

/// The drivers of this host. An error if a vendor that was asked for has none or is unknown.
Result<Detected> detect(const Detection& detection);
/// The same, with the site's files already read.
Result<Detected> detect(const Detection& detection, drivers::Site site);

/// Checks that recorded drivers have all vendors that were asked for, with GPUs unless files are
/// enough. Errors: no_device; usage, if neither the record nor a site's file has the vendor.
Result<void> require_vendors(const Detection& detection,
                             const std::vector<model::DriverStack>& drivers);

/// Checks, before a plan is carried out, that a new detection of this host finds every file and
/// node of the recorded drivers. Does nothing for drivers that were detected. Errors: driver,
/// naming what was not found.
Result<void> prove(const std::vector<model::DriverStack>& drivers,
                   const std::optional<Detection>& unproven);

} // namespace gpucontainer::detect
