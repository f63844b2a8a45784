// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Nodes that must not be made for a container, by their paths in it, with the reason.
using RefusedNodes = std::map<std::string, std::string>;

/// The drivers as if the host had the nodes that it lacks and that can be made for a container;
/// nothing if it lacks none of these, or this process may make none. A node counts as accessible if
/// whoever started this program could use it on the host. Where the kernel cannot be asked about
/// that, because nothing can be mounted by descriptors, it counts as accessible too: it is asked
/// again when the node is made.
std::optional<std::vector<model::DriverStack>>
with_made_nodes(const std::vector<model::DriverStack>& found, const RefusedNodes& refused);

} // namespace gpucontainer::plan
