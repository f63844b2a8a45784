// SPDX-License-Identifier: MIT
#include "cgroup/granting.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"
#include "cgroup/levels.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::cgroup {
namespace {

/// A program in the way, by its place.
struct Obstacle {
    Level* level = nullptr;
    GroupProgram* program = nullptr;
};

/// Whether it forbids one of them. If that cannot be told, it does so where it may be replaced.
bool is_in_the_way(const GroupProgram& program, std::span<const DeviceNumber> devices, bool ours)
{
    return std::ranges::any_of(devices, [&](const DeviceNumber& device) {
        return !allows(program, device).value_or(!ours);
    });
}

/// What is allowed at a group above is allowed to all that it holds.
Result<std::vector<Obstacle>> obstacles_of(std::vector<Level>& levels, const Group& own,
                                           std::span<const DeviceNumber> devices)
{
    std::vector<Obstacle> found;
    for (Level& level : levels) {
        const bool ours = level.group.path() == own.path() || level.group.holds_one_group_alone();
        for (GroupProgram& program : level.programs.all) {
            if (!is_in_the_way(program, devices, ours))
                continue;
            if (!ours)
                return Error(Errc::permission,
                             base::format("cgroup {}: program {} forbids the device, and the group "
                                          "is not the container's alone",
                                          level.group.path(), program.name))
                    .with_object(level.group.path())
                    .with_hint("allow the device there, such as with DeviceAllow= of systemd");
            if (!level.programs.among_others)
                return not_replaceable(level.group,
                                       "their owner attached its program for itself alone");
            found.push_back({&level, &program});
        }
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

Error Grant::take_back(Error because)
{
    for (auto at = programs.rbegin(); at != programs.rend(); ++at)
        if (!replace_program(at->group, at->after.get(), at->name, at->before.get()))
            because = std::move(because).context(base::format(
                "program {} of cgroup {} could not be put back", at->name, at->group.path()));
    for (auto at = rules.rbegin(); at != rules.rend(); ++at)
        if (!listed->deny(at->device, at->access))
            because = std::move(because).context(base::format(
                "{} stays allowed in cgroup {}", to_text(at->device, at->access), listed->path()));
    programs.clear();
    rules.clear();
    return because;
}

Result<Grant> Groups::allow(std::span<const DeviceNumber> devices,
                            const std::optional<std::vector<OrderedRule>>& rules) const
{
    for (const Place* const place : {&devices_, &unified_})
        if (place->elsewhere && !place->group)
            return Error(Errc::requirement, place->problem).with_object(place->path);
    std::vector<Level> levels;
    std::vector<Obstacle> obstacles;
    if (unified_.group) {
        GPUCTR_TRY(levels, levels_of(*unified_.group));
        GPUCTR_TRY(obstacles, obstacles_of(levels, *unified_.group, devices));
    }
    if (!obstacles.empty() && !rules) {
        const std::string& path = obstacles.front().level->group.path();
        return Error(Errc::requirement,
                     base::format("cgroup {}: its rules for devices are not known", path))
            .with_object(path)
            .with_hint("they are in the config.json of the container's bundle");
    }
    Grant grant;
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
