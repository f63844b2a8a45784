// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/host.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"

#include <vector>

namespace gpucontainer::check {

/// What was found out about the host.
struct HostSeen {
    detect::Host host; ///< Without the vendors whose driver cannot be used.
    /// Of these, what the kernel tells of those whose files cannot be used. No plan can be made.
    std::vector<model::DriverStack> without_files;
    model::Causes causes;
};

/// Looks at this host. A vendor that was asked for and cannot be used is a cause.
Result<HostSeen> look_at_host(const detect::Detection& detection);

/// The same for a recorded host, of which only the record is known.
HostSeen look_at_record(const detect::Host& record);

} // namespace gpucontainer::check
