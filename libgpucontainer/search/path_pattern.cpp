// SPDX-License-Identifier: MIT
#include "search/path_pattern.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/ld_cache.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::search {
namespace {

/// Matches like fnmatch(3), whose own time grows exponentially with the number of stars.
bool matches(std::string_view pattern, std::string_view name)
{
    constexpr std::size_t none = std::string_view::npos;
    std::size_t star = none;
    std::size_t behind_star = 0; // position in the name behind what the last star stands for
    std::size_t at = 0;
    for (std::size_t i = 0; i < name.size();) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            behind_star = i;
        } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[i])) {
            ++at;
            ++i;
        } else if (star != none) {
            at = star + 1;
            i = ++behind_star;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == none;
}

std::vector<std::string> matching_names(std::string_view component, const std::string& directory,
                                        const ListDirectory& list)
{
    if (!is_pattern(component))
        return {std::string(component)};
    std::vector<std::string> names = list(directory.empty() ? "/" : directory);
    std::erase_if(names, [&](const std::string& name) {
        const bool is_hidden = name.starts_with('.') && !component.starts_with('.');
        return is_hidden || !matches(component, name);
    });
    std::ranges::sort(names,
                      [](const auto& a, const auto& b) { return elf::compare_names(a, b) > 0; });
    return names;
}

} // namespace

bool is_pattern(std::string_view path)
{
    return path.find_first_of("*?") != std::string_view::npos;
}

std::vector<std::string> expand_pattern(std::string_view pattern, const ListDirectory& list,
                                        std::size_t most)
{
    std::vector<std::string> found = {""};
    for (const std::string_view component : base::split(pattern.substr(1), '/')) {
        std::vector<std::string> next;
        for (const std::string& directory : found)
            for (const std::string& name : matching_names(component, directory, list))
                if (next.size() < most)
                    next.push_back(base::format("{}/{}", directory, name));
        found = std::move(next);
    }
    return found;
}

} // namespace gpucontainer::search
