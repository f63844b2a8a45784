// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace gpucontainer::cgroup {

/// What a short-lived process is to find out, and in which groups.
struct Errand {
    int unified = -1;  ///< Directory of the version 2 group that it is born in; -1: the caller's.
    int moves_to = -1; ///< cgroup.procs of the version 1 group that it then joins, or -1.
    std::span<const int> nodes; ///< Device nodes, opened with O_PATH.
    std::chrono::milliseconds patience = std::chrono::seconds(1);
};

/// errno of faccessat2() for reading and writing each node, 0 if allowed: in the group that it was
/// born in, and in the one that it joined, unless that failed.
struct Replies {
    std::vector<int> born;
    std::vector<int> moved;
    int move_error = 0;
};

/// Starts a process in the groups, which asks the kernel and opens nothing. It is a copy of the
/// caller, so that the group's memory limit and OOM killer do not concern the caller; its parent
/// is another copy, which waits for it. Together they cost as much as two fork() calls. They raise
/// no signal and run no handler. The process is killed after `patience`; if it does not end, it is
/// left to init after the same time again. Errors: requirement, if there is no answer, because the
/// group is frozen, full or somebody else's, for example.
Result<Replies> send_envoy(const Errand& errand);

} // namespace gpucontainer::cgroup
