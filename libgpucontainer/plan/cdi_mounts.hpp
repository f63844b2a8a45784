// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/as_mounts.hpp"
#include "cdi/merged.hpp"
#include "plan/draft.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// For something that a root file system cannot be given.
Error impossible(const cdi::Place& place, std::string_view why);
/// For something that is not on this host.
Error not_here(const cdi::Place& place, std::string_view why);

/// What of a specification is not done, as a finding.
void leave_out(Draft& draft, const cdi::Place& place, std::string why);

/// A mount of a specification, as it is put into a root.
struct CdiMount {
    const cdi::Mount* mount;
    Item item;            ///< A Bind or a Shared.
    std::string identity; ///< Of its source.
};

/// Looks at the sources of all mounts. Errors: usage, for one that cannot be made as it is asked
/// for; driver, for a source that is missing.
Result<std::vector<CdiMount>> look_at_mounts(const cdi::Merged& merged);

/// Adds a mount, over what the image has there. Errors: rootfs.
Result<void> add_mount(Draft& draft, const CdiMount& mount);

/// Adds a name that leads to another one. Where the image has something else, the mount that the
/// name would lead to covers it, if there is one.
void add_link(Draft& draft, const cdi::Links::Link& link, const CdiMount* end);

/// The mount whose directory a path is in; null if it is in none.
const CdiMount* mount_around(const std::vector<CdiMount>& mounts, const std::string& path);

} // namespace gpucontainer::plan
