// SPDX-License-Identifier: MIT
#include "check/image_files.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gpucontainer::check {

using model::Blocks;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr const char* group_file = "/etc/group";

/// The groups that udev gives nodes of GPUs, on all distributions: the first for programs that
/// compute, the other one on those that do not have it.
constexpr std::string_view render_group = "render";
constexpr std::string_view video_group = "video";

/// Numbers of the groups whose members alone may use nodes that every program needs.
std::set<std::uint32_t> group_numbers_of(std::span<const DriverStack> drivers)
{
    constexpr std::uint32_t of_group = 060;
    constexpr std::uint32_t of_others = 06;
    std::set<std::uint32_t> groups;
    for (const DriverStack& driver : drivers)
        for (const model::DeviceNode& node : driver.nodes)
            if (node.required && (node.mode & of_group) == of_group && (node.mode & of_others) == 0)
                groups.insert(node.gid);
    return groups;
}

const model::DeviceNode* node_of(std::span<const DriverStack> drivers, std::uint32_t group)
{
    for (const DriverStack& driver : drivers)
        for (const model::DeviceNode& node : driver.nodes)
            if (node.required && node.gid == group)
                return &node;
    return nullptr;
}

/// The number of a group in a file of groups; none if it has no such group.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view name)
{
    for (const std::string_view line : base::split(text, '\n')) {
        const auto fields = base::split(line, ':');
        if (fields.size() > 2 && fields[0] == name)
            return base::to_number(fields[2]);
    }
    return std::nullopt;
}

} // namespace

void add_missing_places(const rootfs::View& container, std::span<const DriverStack> drivers,
                        model::Causes& causes)
{
    constexpr std::string_view mounted = "a mounted ";
    constexpr std::string_view place = "/proc";
    for (const DriverStack& driver : drivers)
        for (const std::string& need : driver.needs) {
            if (!need.starts_with(mounted)
                || !std::string_view(need).substr(mounted.size()).starts_with(place)
                || container.resolve(std::string(place)).type == rootfs::EntryType::directory)
                continue;
            causes.push_back({{FindingCode::proc_missing, std::string(place),
                               base::format("the image has no such directory, and no runtime can "
                                            "mount one there that does not make it; the driver "
                                            "needs {}",
                                            need),
                               std::string(place),
                               "make the directory in the image; in a running container, mount "
                               "proc there"},
                              Stage::init});
            return;
        }
}

Result<void> add_group_causes(const rootfs::View& container, std::span<const DriverStack> drivers,
                              bool is_root, model::Causes& causes)
{
    constexpr std::size_t largest = 1U << 20U;
    const auto groups = group_numbers_of(drivers);
    if (is_root || groups.empty())
        return {};
    const auto text = container.read(group_file, largest);
    if (!text)
        return {}; // without the file there is no group by name
    const auto is_theirs = [&](const std::optional<std::uint64_t>& number) {
        return number && *number <= UINT32_MAX
               && groups.contains(static_cast<std::uint32_t>(*number));
    };
    const auto number = number_of(*text, render_group);
    if (!number || is_theirs(number) || is_theirs(number_of(*text, video_group)))
        return {};
    const model::DeviceNode& node = *node_of(drivers, *groups.begin());
    causes.push_back(
        {{FindingCode::access_denied, base::format("group {}", render_group),
          base::format("has number {} in the image, and {} is for group {}: a user whom the image "
                       "puts into it gets no GPU",
                       *number, node.host_path, node.gid),
          group_file,
          base::format("give the container the group by its number, as with `--group-add {}`, or "
                       "keep the groups of the user who starts it",
                       node.gid)},
         Stage::feature,
         Blocks::some,
         false});
    return {};
}

} // namespace gpucontainer::check
