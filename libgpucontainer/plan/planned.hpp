// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/merged.hpp"
#include "detect/host.hpp"
#include "plan/made_nodes.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "privilege/file_owner.hpp"
#include "rootfs/view.hpp"

#include <memory>
#include <optional>

namespace gpucontainer::plan {

/// A plan with what it was made from, so that it can be made again for the same root.
struct Planned {
    Plan plan;
    Request request;
    detect::Drivers drivers;
    std::optional<detect::Detection> unproven; ///< As in its host.
    RefusedNodes refused;                      ///< For the container that it is for.
    /// What devices of CDI give, in place of drivers; null for other plans.
    std::shared_ptr<const cdi::Merged> cdi = {};
};

/// Makes a plan of devices of CDI for the root file system at `rootfs_fd`. If that is -1, it is for
/// the configuration of an OCI runtime, and has no items. Errors: those of create_cdi_plan().
Result<Planned> make_cdi_plan(cdi::Merged merged, Request request, int rootfs_fd);

/// Makes a plan for the root file system at `rootfs_fd`, or for a typical one if it is -1. `root`
/// is a view of it, if the caller has one. Errors: no_device, for a host without drivers; those of
/// create_plan().
Result<Planned> make_plan(const detect::Host& host, Request request, int rootfs_fd,
                          const rootfs::RootView* root = nullptr);

/// The same plan for the root as it is now. Names are made by `owner`, or the caller if there is
/// none. A `shared` root is not written, whatever was requested.
Result<Planned> plan_anew(const Planned& planned, int rootfs_fd, bool shared,
                          const std::optional<privilege::Owner>& owner);

/// Checks that drivers from a record are those of this host: every source and node exists. Errors:
/// driver, naming what does not.
Result<void> prove(const Planned& planned);

} // namespace gpucontainer::plan
