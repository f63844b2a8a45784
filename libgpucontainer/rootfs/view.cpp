// SPDX-License-Identifier: MIT
#include "rootfs/view.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <climits>
#include <iterator>

namespace gpucontainer::rootfs {
namespace {

constexpr int most_followed_links = 40; // as the kernel

/// Puts the components of a path before those that are still to be walked; the next one is last.
void put_first(std::string_view path, std::vector<std::string>& components)
{
    const auto parts = base::split(path, '/');
    std::transform(parts.rbegin(), parts.rend(), std::back_inserter(components),
                   [](std::string_view part) { return std::string(part); });
}

} // namespace

std::string real_path(const View& view, std::string_view path)
{
    std::vector<std::string> components;
    put_first(path, components);
    std::string real;
    for (int links = 0; !components.empty();) {
        const std::string name = std::move(components.back());
        components.pop_back();
        if (name.empty() || name == ".")
            continue;
        if (name == "..") {
            real = base::directory_of(real);
            if (real == "/")
                real.clear();
            continue;
        }
        std::string next = real + "/" + name;
        if (next.size() >= PATH_MAX)
            return "";
        const std::string target = view.link_target(next);
        if (target.empty()) {
            real = std::move(next);
            continue;
        }
        if (++links > most_followed_links)
            return "";
        if (target.starts_with('/'))
            real.clear();
        put_first(target, components);
    }
    if (real.empty())
        return "/";
    const Entry entry = view.look(real);
    return entry && entry.type != EntryType::link ? real : "";
}

} // namespace gpucontainer::rootfs
