// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/install.hpp"
#include "cdi/specification.hpp"
#include "plan/planned.hpp"

#include <string>
#include <vector>

namespace gpucontainer::exports {

struct CdiRequest {
    std::string version; ///< "": the lowest that has all of it.
    /// Where this host has the files that are made for containers: manifests.
    std::string files_directory;
    bool groups = false; ///< Processes of containers get the groups of the nodes.
    /// This host's directory with a staged tree, whose libraries containers get by a few mounts;
    /// or "".
    std::string staged_tree;
    /// Path and arguments of a command that sets up everything but the nodes, when a container is
    /// created; or none.
    std::vector<std::string> hook;
};

struct CdiDocument {
    cdi::Specification specification;
    std::vector<cdi::HostFile> files;
};

/// What a plan for images that are not known gives to containers, as a specification: a device for
/// each name of the plan's GPUs, and "all". No hook is needed, and with one there are no mounts.
/// Nodes have no numbers, because some differ after a reboot. What depends on the GPUs that one
/// container gets is not in it, as a container may get several devices: variables that name them,
/// and masks of the kernel's directories. Errors: usage, for other plans and versions; no_device.
Result<CdiDocument> cdi_document(const plan::Planned& planned, const CdiRequest& request);

/// What a specification of a driver's GPUs is made from, besides files.
std::vector<cdi::Mark> cdi_marks(const model::DriverStack& driver);

} // namespace gpucontainer::exports
