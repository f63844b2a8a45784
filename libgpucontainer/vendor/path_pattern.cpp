// SPDX-License-Identifier: MIT
#include "vendor/path_pattern.hpp"

#include "base/text.hpp"
#include "elf/ld_cache.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fnmatch.h>
#include <utility>

namespace gpucontainer::vendor {
namespace {

std::vector<std::string> matching_names(std::string_view component, const std::string& directory,
                                        const ListDirectory& list)
{
    if (!is_pattern(component))
        return {std::string(component)};
    std::vector<std::string> names = list(directory.empty() ? "/" : directory);
    std::erase_if(names, [&](const std::string& name) {
        return ::fnmatch(std::string(component).c_str(), name.c_str(), FNM_PERIOD) != 0;
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
                    next.push_back(fmt::format("{}/{}", directory, name));
        found = std::move(next);
    }
    return found;
}

} // namespace gpucontainer::vendor
