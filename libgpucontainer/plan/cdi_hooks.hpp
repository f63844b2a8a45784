// SPDX-License-Identifier: MIT
#pragma once

#include "plan/cdi_mounts.hpp"

#include <string>
#include <vector>

/// What hooks of specifications are for, besides links.
namespace gpucontainer::plan {

/// The names that the next functions may add.
std::vector<std::string> cdi_hook_paths(const Draft& draft, const cdi::Merged& merged);

/// Links by sonames, as ldconfig makes them, beside those that the hooks make.
std::vector<cdi::Links::Link> soname_links(const cdi::Merged& merged,
                                           const std::vector<cdi::FoundLibrary>& libraries);

/// Has programs find the libraries, and an image's own newer ones if those fit. Errors: rootfs.
Result<void> add_cdi_cache(Draft& draft, const cdi::Merged& merged,
                           const std::vector<cdi::FoundLibrary>& libraries);

/// Masks and files of the other hooks. Errors: those of reading this host.
Result<void> add_cdi_tasks(Draft& draft, const cdi::Merged& merged);

} // namespace gpucontainer::plan
