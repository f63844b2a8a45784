// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <string>
#include <vector>

/// What only some containers are given of a host with NVIDIA GPUs: nodes of other kernel modules,
/// channels between hosts, and the sockets of services.
namespace gpucontainer::drivers::nvidia {

/// Clients of MPS neither write there nor know its path on the host. They work where it is mounted
/// at the usual place.
inline constexpr NamedDirectory mps_directory = {"CUDA_MPS_PIPE_DIRECTORY",
                                                 "/tmp/nvidia-mps",
                                                 "control",
                                                 "mps",
                                                 model::Capability::compute,
                                                 "CUDA programs reach the MPS server by it"};

/// The nodes below `dev_root` that are there.
Result<void> add_extra_nodes(const std::string& system_root, const std::string& dev_root,
                             search::Nodes& found, model::Findings& findings);

/// Sockets and directories that are there and that nobody but root, their services and the caller
/// can have put there.
std::vector<model::SharedPath> shared_paths(const std::string& system_root,
                                            const std::vector<model::DeviceNode>& nodes,
                                            model::Findings& findings);

} // namespace gpucontainer::drivers::nvidia
