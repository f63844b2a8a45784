// SPDX-License-Identifier: MIT
#include "cgroup/membership.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::cgroup {
namespace {

constexpr std::string_view controller = "devices";

/// Reads a line, "HIERARCHY:CONTROLLERS:PATH". A path may have colons.
struct Line {
    std::string_view hierarchy;
    std::string_view controllers;
    std::string_view path;
};

std::optional<Line> parse_line(std::string_view text)
{
    const auto first = text.find(':');
    const auto second = first == std::string_view::npos ? first : text.find(':', first + 1);
    if (second == std::string_view::npos)
        return std::nullopt;
    const Line line = {text.substr(0, first), text.substr(first + 1, second - first - 1),
                       text.substr(second + 1)};
    const bool is_path =
        line.path.starts_with('/') && line.path.find('\0') == std::string_view::npos;
    return is_path && base::to_number(line.hierarchy) ? std::optional(line) : std::nullopt;
}

} // namespace

Membership parse_membership(std::string_view text)
{
    Membership found;
    for (const std::string_view part : base::split(text, '\n')) {
        const auto line = parse_line(part);
        if (!line)
            continue;
        if (line->hierarchy == "0" && line->controllers.empty() && !found.unified)
            found.unified = line->path;
        const auto controllers = base::split(line->controllers, ',');
        if (std::ranges::find(controllers, controller) == controllers.end() || found.devices)
            continue;
        found.devices = line->path;
        found.devices_alone = controllers.size() == 1;
    }
    return found;
}

} // namespace gpucontainer::cgroup
