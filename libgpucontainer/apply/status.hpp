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

/// A set-up from its journal, compared with what there is.
struct SetUp {
    journal::RootName root;
    journal::SetUpKey key;
    journal::Origin origin = journal::Origin::here;
    int process = 0;       ///< Pid in its mount namespace, if not this one; 0: unknown.
    std::string root_path; ///< "" if unknown.
    std::vector<plan::UsedDriver> drivers;
    std::string tree_path;
    std::int64_t since = 0;
    bool writes_root = false;
    std::vector<plan::Item> items; ///< What undo takes away.
    model::Findings findings;      ///< What no longer fits.
};

/// The set-ups of one root in all mount namespaces. Needs only the privilege to read the journals;
/// for a process, also to join its namespace.
Result<std::vector<SetUp>> look_at_root(const Target& target);

/// All set-ups in a state directory. A root that another process keeps locked for longer than
/// `limit` does not stop the others.
Result<std::vector<SetUp>>
look_at_all(const std::string& state_directory,
            std::chrono::milliseconds limit = journal::JournalStore::patience);

} // namespace gpucontainer::apply
