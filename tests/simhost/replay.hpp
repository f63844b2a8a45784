// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"
#include "stand_up.hpp"
#include "world.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::simhost {

/// The first of the 65,536 ids that root's command on a stranger's host has: root there is this id
/// on the machine. No account has them, and no range of subordinate ids.
inline constexpr uid_t first_replay_id = 2'000'000'000;

struct ReplayOptions {
    StandUpOptions stand_up;
    std::vector<Shown> shown;
    std::string
        program; ///< Path of the command's program on this machine; empty: looked for there.
    std::vector<std::string> left_out; ///< Of the recording; what the kernel refuses is added.
    bool quiet = false;
};

/// Runs a command on a host that a stranger may have described, and returns its exit status, 128
/// and the number for a signal. Whatever the host has, the command has no privilege over this
/// machine: see README.md. An error is one of this program or of the kernel, before the command
/// runs.
Result<int> replay(const Recording& host, const ReplayOptions& options, char** command);

} // namespace gpucontainer::simhost
