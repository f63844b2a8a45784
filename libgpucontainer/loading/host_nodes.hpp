// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/finding.hpp"
#include "search/nodes.hpp"

#include <string>
#include <vector>

namespace gpucontainer::loading {

/// Makes the nodes that are missing in /dev of this host and whose driver is loaded and lets them
/// be made. What is in the place of a node stays. It says in `findings` what was made. Errors:
/// permission, if this process may not make nodes.
Result<void> make_host_nodes(const std::string& system_root,
                             const std::vector<search::WantedNode>& nodes,
                             model::Findings& findings);

} // namespace gpucontainer::loading
