// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::simhost {

/// Who calls: whose ids the command on a stranger's host has.
struct Caller {
    bool is_root = false; ///< Then the ids from first_replay_id on, else the caller's one.
    uid_t uid = 0;        ///< Of the one id in the namespace; 0 with --map-root.
    gid_t gid = 0;
};

/// The parent's side of a user namespace that only it can give ids to.
class IdGiver {
public:
    static Result<IdGiver> make();

    /// The child: asks for the ids of root's command, in a fresh user namespace.
    Result<void> ask();
    /// The parent: gives them to the child when it asks. Nothing if it ends without asking.
    void give_to(pid_t child);

private:
    base::UniqueFd child_end_;
    base::UniqueFd parent_end_;
};

/// Gives up every privilege over the machine, for good: a user namespace of ids that no account
/// has, mounts that cannot be changed back, and its own other namespaces, session and keyring.
/// Returns false if the kernel allows no user namespace: root's command is then an ordinary user
/// without a capability, and must be told so.
Result<bool> confine(const Caller& caller, IdGiver& giver);

/// Of the environment, what says nothing about who calls.
std::vector<std::string> plain_environment();

} // namespace gpucontainer::simhost
