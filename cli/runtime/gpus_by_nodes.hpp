// SPDX-License-Identifier: MIT
#pragma once

#include <gpucontainer/gpucontainer.hpp>

#include <string>

namespace gpuctr_cli {

/// The GPUs that a container got from its engine, as a request names them: those all of whose own
/// device nodes are mounted in the root at `rootfs_fd`, or in a /dev that is; a GPU that is divided
/// stands for none of its instances. Of a vendor whose GPUs share their nodes, all if the nodes are
/// there. "" if it has none. `request` says what else it gets. Throws gpucontainer::Error.
std::string gpus_by_nodes(const gpucontainer::Host& host, gpucontainer::Request request,
                          int rootfs_fd);

/// Throws gpucontainer::Error if a plan has a node that the container did not get from its engine:
/// permission.
void require_nodes_of_engine(const gpucontainer::Plan& plan, int rootfs_fd);

} // namespace gpuctr_cli
