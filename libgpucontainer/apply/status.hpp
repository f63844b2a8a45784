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

enum class ProblemKind : std::uint8_t {
    part_missing,      ///< Gone, covered, or not as it was left.
    driver_version,    ///< The loaded kernel module is of another version.
    driver_not_loaded, ///< There is no kernel module to work with.
    earlier_boot,      ///< Mounts are gone with it.
    namespace_end,     ///< Mounts are gone with their namespace.
    interrupted,       ///< Apply was cut off.
    partly_undone,     ///< Undo could not take everything back.
    root_gone,         ///< The root is no longer where it was.
    journal_damaged,   ///< What was done is not known.
    locked,            ///< Another process is at work there, and does not come to an end.
    device_denied,     ///< The device cgroup of the container forbids a node.
    device_unknown,    ///< Whether it does could not be found out.
};
std::string_view name(ProblemKind kind);

/// False for what harms nothing that is in use.
bool is_error(ProblemKind kind);

/// Something that does not fit any more about a set-up.
struct Problem {
    ProblemKind kind;
    std::string object; ///< A path in the container, a version; may be empty.
    std::string text;   ///< One line.
};

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
    std::vector<Problem> problems;
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
