// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"

#include <string>
#include <vector>

namespace gpucontainer::mount {

/// A detached mount, and the path in the tree at which it is attached.
struct Branch {
    base::UniqueFd mount;
    std::string path; ///< Relative to the tree; exists already.
};

/// A tree of mounts that is attached nowhere.
struct DetachedTree {
    base::UniqueFd tree;
    std::vector<base::UniqueFd> parts; ///< Mounts of single names in it, as requested.
};

/// Attaches `branches` below `base`, a detached mount, and clones `parts` of the tree as separate
/// mounts.
///
/// If Way::takes_mounts is false, this happens in the mount namespace of a short-lived child
/// process, which raises no SIGCHLD. Errors: permission without CAP_SYS_ADMIN.
Result<DetachedTree> assemble(const Bench& bench, base::UniqueFd base,
                              const std::vector<Branch>& branches,
                              const std::vector<std::string>& parts);

} // namespace gpucontainer::mount
