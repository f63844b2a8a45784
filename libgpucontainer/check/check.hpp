// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/host.hpp"
#include "model/cause.hpp"
#include "plan/request.hpp"

#include <optional>
#include <string>

namespace gpucontainer::check {

/// What a diagnosis is about. A root, a program or both may be left out.
struct Subject {
    detect::Detection detection;
    /// A recorded host, in place of this one. Null: this one.
    const detect::Host* record = nullptr;
    plan::Request request;
    int rootfs_fd = -1;
    /// The process whose root that is: its container is looked at as it is, whoever set it up. -1:
    /// the root is looked at as a set-up would leave it.
    int pidfd = -1;
    std::string program; ///< A path in the root, or a name in its PATH; "": none.
};

/// A diagnosis: reasons why GPU programs will not work, and remarks.
struct Diagnosis {
    /// In the order in which a person should deal with them, each with its severity.
    model::Findings findings;
    detect::Drivers drivers; ///< Of the host; maybe none.
};

/// Finds out whether GPU programs will work, without changing anything, executing anything or
/// opening a device node. What does not work is a finding. Errors: usage, for a request that is
/// none; rootfs, if the root cannot be read.
Result<Diagnosis> check(const Subject& subject);

} // namespace gpucontainer::check
