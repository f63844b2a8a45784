// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/planned.hpp"

#include <string>

namespace gpucontainer::exports {

/// What a plan for images that are not known adds to the configuration of an OCI runtime, as JSON
/// of the schema "gpucontainer/oci/1": variables, mounts, device nodes with their numbers, and
/// rules of the device cgroup. No hook is needed. Files that the plan generates are mounted from
/// below `files_directory`; the document says what has to be in them. Errors: usage, for other
/// plans, and for a path that JSON cannot have.
Result<std::string> oci_edits(const plan::Planned& planned, const std::string& files_directory);

} // namespace gpucontainer::exports
