// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/host.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "privilege/file_owner.hpp"

#include <optional>

namespace gpucontainer::plan {

/// A plan with what it was made of: enough to make it anew for the same root.
struct Planned {
    Plan plan;
    Request request;
    detect::Drivers drivers;
    std::optional<detect::Detection> unproven; ///< As in its host.
};

/// Plans for the root file system at `rootfs_fd`, or for none that is known if it is -1.
/// Errors: no_device for a host without drivers, and those of create_plan().
Result<Planned> make_plan(const detect::Host& host, Request request, int rootfs_fd);

/// The same plan for the root as `rootfs_fd` shows it by now, with names that `owner` makes, or
/// the caller. Nothing is written into a root that is `shared`, whatever was asked for.
Result<Planned> plan_anew(const Planned& planned, int rootfs_fd, bool shared,
                          const std::optional<privilege::Owner>& owner);

/// Every source and node of the plan's drivers is on this host as well, if they came from a
/// record. Errors: driver, naming what is not.
Result<void> prove(const Planned& planned);

} // namespace gpucontainer::plan
