// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/group.hpp"
#include "journal/ground.hpp"
#include "journal/origin.hpp"
#include "plan/plan.hpp"
#include "program/builder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::journal {

enum class Progress : std::uint8_t {
    begun,         ///< Apply is at work, or was cut off somewhere.
    complete,      ///< All of it was done.
    partly_undone, ///< Undo is at work, was cut off, or could not take all back.
};

/// What is added for one device to the list of a device cgroup, and was not there.
struct DeviceRule {
    cgroup::DeviceNumber device;
    cgroup::Access access = 0;

    bool operator==(const DeviceRule&) const = default;
};

/// Rules that a set-up adds, and to which device cgroup of version 1.
struct Grant {
    std::string group; ///< Its path in the hierarchy.
    cgroup::GroupId id;
    std::vector<DeviceRule> rules; ///< Maybe none.

    bool operator==(const Grant&) const = default;
};

/// One set-up: what apply did to a root, to be undone by any later process.
struct Journal {
    RootId root;
    SetUpKey key;
    std::string root_path;  ///< Where the root was; "" when it has no path on the host.
    std::int64_t since = 0; ///< Seconds since 1970.
    /// When apply or undo began to change the root, by the clock of files; what
    /// follows until `progress` is `complete` is their doing.
    std::int64_t changing_since = 0;

    bool bound_on_itself = false; ///< The mount that the root is seen on is ours.
    int mounts_below = 0;         ///< How many that bind brought along.
    Progress progress = Progress::begun;
    bool writes_root = false;
    bool persistent = false;      ///< What was written there outlives the boot.
    std::optional<Ground> ground; ///< Of names that were written, as far as it is known.
    std::string identity;         ///< The plan's.
    std::string tree_path;

    std::vector<plan::UsedDriver> drivers;
    Grant grant;

    program::Block program; ///< Without descriptors.
};

/// Leaves of a journal of another boot or namespace what lasts: its mounts are gone,
/// and their identities may be those of others by now.
void forget_lost_mounts(Journal& journal, Origin origin);

/// A set-up's name among those of the same root, and back: which ones concern a
/// caller is known without reading any.
std::string file_name(const SetUpKey& key);
std::optional<SetUpKey> parse_file_name(std::string_view name);

std::string to_text(const Journal& journal, const program::Program& program);
/// `name` is for messages.
Result<Journal> from_text(const std::string& name, const std::string& text);

} // namespace gpucontainer::journal
