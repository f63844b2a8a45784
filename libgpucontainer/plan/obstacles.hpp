// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <optional>

namespace gpucontainer::plan {

/// Why a GPU cannot be used because of a device node.
Error missing_node(const model::DriverStack& driver, const model::DeviceNode& node);
Error forbidden_node(const model::DriverStack& driver, const model::DeviceNode& node);

/// Whether every GPU of the driver needs it.
bool is_for_all(const model::DeviceNode& node);

/// Why no GPU of a driver can be used, if the reason is a node that all of them need.
std::optional<Error> obstacle_to_all(const model::DriverStack& driver);

} // namespace gpucontainer::plan
