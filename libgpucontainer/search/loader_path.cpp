// SPDX-License-Identifier: MIT
#include "search/loader_path.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "search/path_pattern.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace gpucontainer::search {
namespace {

constexpr std::size_t most_directories = 64;
constexpr std::size_t most_candidates = 10'000; // of which few are directories

/// `text` with each $NAME and ${NAME} replaced.
std::string replace(std::string text, std::string_view name, std::string_view value)
{
    for (const std::string& token : {base::format("${{{}}}", name), base::format("${}", name)})
        for (std::size_t at = 0; (at = text.find(token, at)) != std::string::npos;
             at += value.size())
            text.replace(at, token.size(), value);
    return text;
}

void add_once(std::vector<std::string>& list, std::string value)
{
    if (std::ranges::find(list, value) == list.end())
        list.push_back(std::move(value));
}

} // namespace

std::vector<std::string> expand_loader_path(std::span<const std::string> directories,
                                            const std::string& origin, const elf::Machine& machine)
{
    // Most loaders replace $LIB by "lib64"; those of Debian and its derivatives by the other.
    const std::array library_words = {std::string("lib64"),
                                      base::format("lib/{}", machine.multiarch)};
    std::vector<std::string> all;
    for (const std::string& directory : directories)
        for (const std::string& word : library_words) {
            std::string path = replace(replace(replace(directory, "ORIGIN", origin), "LIB", word),
                                       "PLATFORM", machine.platform);
            if (path.starts_with('/'))
                add_once(all, std::move(path));
        }
    return all;
}

std::vector<std::string> expand_directories(const host::DriverRoot& root,
                                            std::span<const std::string> patterns)
{
    const auto list = [&](const std::string& directory) { return root.list(directory); };
    std::vector<std::string> all;
    for (const std::string& pattern : patterns)
        if (pattern.starts_with('/'))
            for (std::string& directory : expand_pattern(pattern, list, most_candidates)) {
                const auto status = root.look(directory);
                if (status && S_ISDIR(status->st_mode) && all.size() < most_directories)
                    add_once(all, std::move(directory));
            }
    return all;
}

} // namespace gpucontainer::search
