// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/store.hpp"
#include "plan/plan.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::apply {

std::string_view name(journal::Origin origin);

/// One set-up as its journal knows it, compared with what there is.
struct SetUp {
    journal::RootName root;
    journal::SetUpKey key;
    journal::Origin origin = journal::Origin::here;
    int process = 0;       ///< In its mount namespace, where that is another one; 0: not known.
    std::string root_path; ///< "" when it is not known.
    std::vector<plan::UsedDriver> drivers;
    std::string tree_path;
    std::int64_t since = 0;
    bool writes_root = false;
    model::Findings findings; ///< What does not fit any more.
};

/// The set-ups of one root, of all that the directory is seen from. Needs no
/// privilege but to read the journals, and that of joining for a process.
Result<std::vector<SetUp>> look_at_root(const Target& target);

/// All of a state directory. A root that another process is at work on for longer than
/// `limit` keeps none of the others.
Result<std::vector<SetUp>>
look_at_all(const std::string& state_directory,
            std::chrono::milliseconds limit = journal::JournalStore::patience);

} // namespace gpucontainer::apply
