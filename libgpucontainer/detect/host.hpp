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

/// The drivers of a host, detected or read from a record.
struct Host {
    Drivers drivers;
    /// Vendors that nobody asked for and whose detection failed, with the class of the first
    /// failure.
    model::Findings findings;
    Errc failure = Errc::no_device;
    std::vector<std::string> required; ///< Vendors that were asked for by name.
    std::vector<Mark> fingerprint;
    /// For a record: how to detect this host again, to compare them before a plan is carried out.
    std::optional<Detection> unproven;
};

/// Detects this host. Errors: those of detect().
Result<Host> open_host(const Detection& detection);

} // namespace gpucontainer::detect
