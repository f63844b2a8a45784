// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace gpucontainer::cgroup {

/// What a short-lived process is to find out, in groups that it is in alone.
struct Errand {
    int unified = -1; ///< Directory of the group of version 2 that it is born in; -1: the caller's.
    int moves_to = -1; ///< cgroup.procs of the group of version 1 that it then joins, or -1.
    std::span<const int> nodes; ///< Device nodes, opened by O_PATH.
    std::chrono::milliseconds patience = std::chrono::seconds(1);
};

/// errno of faccessat2() for reading and writing each node, 0 where it may; in the group that
/// it was born in, and in the one that it joined, unless that was refused.
struct Replies {
    std::vector<int> born;
    std::vector<int> moved;
    int move_error = 0;
};

/// Sends a process that asks the kernel, and opens nothing. It is a copy of the caller, by way of
/// another one that waits for it, which costs as fork() does twice, so that the group's memory
/// and its OOM killer have nothing to do with the caller's; it raises no signal, runs no handler,
/// and is gone afterwards. One that the kernel does not let end, told to after `patience`, is
/// left to init after as long again. Errors: requirement, for whatever keeps it from coming back
/// with an answer, such as a group that is frozen, full or somebody else's.
Result<Replies> send_envoy(const Errand& errand);

} // namespace gpucontainer::cgroup
