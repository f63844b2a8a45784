// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"
#include "rootfs/view.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::rootfs {

inline constexpr int most_links_followed = 40;    // as the kernel
inline constexpr std::size_t longest_path = 4095; // PATH_MAX without its NUL
/// Names in a path and all links on it. The kernel follows more; links that lead to and fro a
/// thousand times take long.
inline constexpr std::size_t most_components = 256;

enum class LastLink : bool { kept, followed };

/// The path without links to what `path` leads to; none if it leads nowhere. `type_of` and
/// `target_of` are asked about paths whose directories are no links: what a name is, and where a
/// link leads.
template <typename TypeOf, typename TargetOf>
std::optional<std::string> follow_links(std::string_view path, LastLink last, const TypeOf& type_of,
                                        const TargetOf& target_of)
{
    std::vector<std::string> pending; // the next component is the last
    std::size_t components = 0;
    const auto push = [&](std::string_view text) {
        const std::vector<std::string_view> parts = base::split(text, '/');
        components += parts.size();
        pending.insert(pending.end(), parts.rbegin(), parts.rend());
        return components <= most_components;
    };
    if (path.size() > longest_path || !push(path))
        return std::nullopt;
    std::string at; // "": the root
    for (int links = 0; !pending.empty();) {
        const std::string name = std::move(pending.back());
        pending.pop_back();
        if (name.empty() || name == ".")
            continue;
        if (name == "..") {
            at.resize(at.find_last_of('/') == std::string::npos ? 0 : at.find_last_of('/'));
            continue;
        }
        const std::string next = at + "/" + name;
        if (next.size() > longest_path)
            return std::nullopt;
        const EntryType type = type_of(next);
        const bool is_last = pending.empty();
        if (type == EntryType::link && (!is_last || last == LastLink::followed)) {
            const std::string target = target_of(next);
            if (++links > most_links_followed || target.empty() || target.size() > longest_path)
                return std::nullopt;
            if (target.starts_with('/'))
                at.clear();
            if (!push(target))
                return std::nullopt;
            continue;
        }
        if (type == EntryType::none || (!is_last && type != EntryType::directory))
            return std::nullopt;
        at = next;
    }
    return at.empty() ? "/" : at;
}

/// The path without links to what `path` leads to in a view; none if it leads nowhere.
std::optional<std::string> real_path(const View& view, std::string_view path,
                                     LastLink last = LastLink::followed);

} // namespace gpucontainer::rootfs
