// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/install.hpp"
#include "cdi/specification.hpp"
#include "plan/item.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::exports {

/// A mount, and the file that has to be made on this host for it, if any.
struct GivenMount {
    cdi::Mount mount;
    std::optional<cdi::HostFile> file;
};

/// What an item of a plan for images that are not known is to a runtime that mounts. A file that
/// the plan generates lies in `files_directory`. Nothing for items that are not mounted.
std::optional<GivenMount> mount_of(const plan::Item& item, const std::string& files_directory);

} // namespace gpucontainer::exports
