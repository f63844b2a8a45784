// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/detection.hpp"
#include "detect/fingerprint.hpp"
#include "model/driver.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::detect {

using Drivers = std::shared_ptr<const std::vector<model::DriverStack>>;

/// The drivers of a host, found there or read from its record.
struct Host {
    Drivers drivers;
    /// Vendors that nobody asked for and that failed; the class of the first one.
    model::Findings findings;
    Errc failure = Errc::no_device;
    std::vector<std::string> required; ///< Vendors that were asked for by name.
    std::vector<Mark> fingerprint;
    /// For a record from elsewhere: how to detect what it is compared with before
    /// a plan of it is carried out.
    std::optional<Detection> unproven;
};

/// Looks at this host. Errors: those of detect().
Result<Host> open_host(const Detection& detection);

} // namespace gpucontainer::detect
