// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/fingerprint.hpp"
#include "model/driver.hpp"

#include <string_view>
#include <vector>

namespace gpucontainer::exports {

/// A recorded host.
struct HostRecord {
    std::vector<model::DriverStack> drivers;
    model::Findings findings;
    std::vector<detect::Mark> fingerprint;
};

/// Reads what host_to_json() wrote. Trusts nothing: types, bounds, paths and indexes are checked,
/// but not whether the record is true of this host. Errors: usage, naming the place in the
/// document.
Result<HostRecord> host_from_json(std::string_view text);

} // namespace gpucontainer::exports
