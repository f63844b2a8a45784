// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/fingerprint.hpp"
#include "model/driver.hpp"

#include <string_view>
#include <vector>

namespace gpucontainer::exports {

/// A host as it was when its record was written.
struct HostRecord {
    std::vector<model::DriverStack> drivers;
    model::Findings findings;
    std::vector<detect::Mark> fingerprint;
};

/// Reads what host_to_json() wrote, trusting nothing: every field has its type
/// and bounds, paths lead nowhere else, and indexes fit. Whether it is true is
/// not known by that. Errors: usage, naming the place in the document.
Result<HostRecord> host_from_json(std::string_view text);

} // namespace gpucontainer::exports
