// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"

#include <span>
#include <string>

namespace gpucontainer::check {

/// Adds which security policy of the host may keep containers from using the drivers' nodes.
/// `system_root` is a prefix of /sys.
Result<void> add_policy_causes(const std::string& system_root,
                               std::span<const model::DriverStack> drivers, model::Causes& causes);

} // namespace gpucontainer::check
