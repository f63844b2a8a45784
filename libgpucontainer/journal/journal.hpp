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
    begun,         ///< Apply is at work, or was interrupted.
    complete,      ///< Apply has done all of it.
    partly_undone, ///< Undo is at work, was interrupted, or could not undo all.
};

/// The access that a set-up adds for one device to the list of a device cgroup.
struct DeviceRule {
    cgroup::DeviceNumber device;
    cgroup::Access access = 0;

    bool operator==(const DeviceRule&) const = default;
};

/// Rules that a set-up adds to a device cgroup of version 1.
struct Grant {
    std::string group; ///< Its path in the hierarchy.
    cgroup::GroupId id;
    std::vector<DeviceRule> rules; ///< May be empty.

    bool operator==(const Grant&) const = default;
};

/// A set-up: what apply did to a root, so that any later process can undo it.
struct Journal {
    RootId root;
    SetUpKey key;
    std::string root_path;  ///< Path of the root; "" if it has none on the host.
    std::int64_t since = 0; ///< Seconds since 1970.
    /// When apply or undo began to change the root, by the clock of files. Changes from then until
    /// `progress` is `complete` are theirs.
    std::int64_t changing_since = 0;

    bool bound_on_itself = false; ///< The mount of the root is our bind mount.
    int mounts_below = 0;         ///< Number of mounts that the bind mount copied.
    Progress progress = Progress::begun;
    bool writes_root = false;
    bool persistent = false;      ///< What was written into the root outlives the boot.
    std::optional<Ground> ground; ///< Where names were written, if known.
    std::string identity;         ///< Of the plan.
    std::string tree_path;

    std::vector<plan::UsedDriver> drivers;
    Grant grant;

    program::Block program; ///< Has no descriptors.
};

/// Reduces a journal of an earlier boot or an ended namespace to its names. Its mounts are gone,
/// and other mounts may have their ids.
void forget_lost_mounts(Journal& journal, Origin origin);

/// Converts between the key of a set-up and its name in the root's directory, so that a caller
/// finds its set-ups without reading others.
std::string file_name(const SetUpKey& key);
std::optional<SetUpKey> parse_file_name(std::string_view name);

std::string to_text(const Journal& journal, const program::Program& program);
/// `name` is for messages.
Result<Journal> from_text(const std::string& name, const std::string& text);

} // namespace gpucontainer::journal
