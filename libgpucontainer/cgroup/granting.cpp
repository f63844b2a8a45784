// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"
#include "cgroup/levels.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::cgroup {
namespace {

/// A program in the way, by its place.
struct Obstacle {
    Level* level = nullptr;
    GroupProgram* program = nullptr;
};

/// A runtime that uses systemd may make a group of its own in the scope that systemd made for the
/// container. Any other group may be shared, even if it holds nothing else at the moment.
bool is_the_containers(const Group& group, const Group& own)
{
    return group.path() == own.path() || is_scope_of(group, own);
}

Error forbidden_above(const Group& group, const std::string& program)
{
    return Error(Errc::permission,
                 base::format("cgroup {}: program {} forbids the device, and the group is not the "
                              "container's alone",
                              group.path(), program))
        .with_object(group.path())
        .with_hint("allow the device there, such as with DeviceAllow= of systemd");
}

Result<void> check_replaceable(const Level& level, const GroupProgram& program, const Group& own)
{
    if (!is_the_containers(level.group, own))
        return forbidden_above(level.group, program.name);
    if (!level.programs.among_others)
        return not_replaceable(level.group, "their owner attached its program for itself alone");
    return {};
}

/// Whether the program answers so about one of the devices; none: it cannot be told.
bool answers_one(const GroupProgram& program, std::span<const DeviceNumber> devices,
                 std::optional<bool> answer)
{
    return std::ranges::any_of(
        devices, [&](const DeviceNumber& device) { return allows(program, device) == answer; });
}

/// Programs that forbid one of the devices. One of which that cannot be told is named in `unclear`.
Result<std::vector<Obstacle>> obstacles_of(std::vector<Level>& levels, const Group& own,
                                           std::span<const DeviceNumber> devices,
                                           std::string& unclear)
{
    std::vector<Obstacle> found;
    for (Level& level : levels)
        for (GroupProgram& program : level.programs.all) {
            if (unclear.empty() && answers_one(program, devices, std::nullopt))
                unclear = base::format("program {} of cgroup {}", program.name, level.group.path());
            if (!answers_one(program, devices, false))
                continue;
            GPUCTR_CHECK(check_replaceable(level, program, own));
            found.push_back({&level, &program});
        }
    return found;
}

Result<void> add_rules(const Group& group, std::span<const DeviceNumber> devices, Grant& grant)
{
    GPUCTR_TRY(const DeviceList before, group.device_list());
    grant.listed = &group;
    for (const DeviceNumber& device : devices) {
        GPUCTR_CHECK(group.allow(device, may_use));
        // To deny what a group allows by default would make an exception.
        if (const Access missing = missing_access(before, device);
            missing != 0 && !before.all_by_default)
            grant.rules.push_back({device, missing});
    }
    return {};
}

Result<void> replace(const std::vector<Obstacle>& obstacles, std::span<const OrderedRule> rules,
                     Grant& grant)
{
    for (const Obstacle& at : obstacles) {
        GPUCTR_TRY(auto anew, load_program(at.level->group, rules));
        auto group = at.level->group.again();
        if (!group)
            return not_replaceable(at.level->group, "it went away");
        GPUCTR_CHECK(replace_program(*group, at.program->fd.get(), at.program->name, anew.get()));
        grant.programs.push_back(
            {*std::move(group), std::move(at.program->fd), std::move(anew), at.program->name});
    }
    return {};
}

} // namespace

Result<Grant> Groups::allow(std::span<const DeviceNumber> devices,
                            const std::optional<std::vector<OrderedRule>>& rules) const
{
    for (const Place* const place : {&devices_, &unified_})
        if (place->elsewhere && !place->group)
            return Error(Errc::requirement, place->problem).with_object(place->path);
    Grant grant;
    std::vector<Level> levels;
    std::vector<Obstacle> obstacles;
    if (unified_.group) {
        GPUCTR_TRY(levels, levels_of(*unified_.group));
        GPUCTR_TRY(obstacles, obstacles_of(levels, *unified_.group, devices, grant.unclear));
    }
    if (!obstacles.empty() && !rules) {
        const std::string& path = obstacles.front().level->group.path();
        return Error(Errc::requirement,
                     base::format("cgroup {}: its rules for devices are not known", path))
            .with_object(path)
            .with_hint("they are in the config.json of the container's bundle");
    }
    if (devices_.group)
        if (auto added = add_rules(*devices_.group, devices, grant); !added)
            return grant.take_back(std::move(added).error());
    if (obstacles.empty())
        return grant;
    std::vector<OrderedRule> whole = *rules;
    for (const DeviceNumber& device : devices)
        whole.push_back({true, DeviceType::character, device.major, device.minor, may_use});
    if (auto replaced = replace(obstacles, whole, grant); !replaced)
        return grant.take_back(std::move(replaced).error());
    return grant;
}

} // namespace gpucontainer::cgroup
