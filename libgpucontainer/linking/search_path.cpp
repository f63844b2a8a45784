// SPDX-License-Identifier: MIT
#include "linking/search_path.hpp"

#include "base/format.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>

namespace gpucontainer::linking {
namespace {

constexpr std::size_t most_directories = 256;
constexpr std::size_t most_parts = 1024; // of which few are directories

/// `text` with each $NAME and ${NAME} replaced; it does not become longer than a path.
std::string replaced(std::string text, std::string_view name, std::string_view value)
{
    for (const std::string& token : {base::format("${{{}}}", name), base::format("${}", name)})
        for (std::size_t at = 0; text.size() <= rootfs::longest_path
                                 && (at = text.find(token, at)) != std::string::npos;
             at += value.size())
            text.replace(at, token.size(), value);
    return text;
}

} // namespace

std::vector<std::string> parts_of(std::string_view text, std::string_view separators)
{
    std::vector<std::string> parts;
    while (!text.empty() && parts.size() < most_parts) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end != 0)
            parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::vector<std::string> expand(const Loader& loader, std::string_view text,
                                const std::string& origin)
{
    if (text.find('$') == std::string_view::npos)
        return {std::string(text)};
    const std::string with_origin = replaced(std::string(text), "ORIGIN", origin);
    if (loader.rules != Rules::glibc) // musl takes no path with other words
        return {with_origin};
    const std::string_view platform =
        loader.machine != nullptr ? loader.machine->platform : std::string_view();
    std::vector<std::string> all;
    for (const std::string& word : loader.library_words) {
        std::string path = replaced(replaced(with_origin, "LIB", word), "PLATFORM", platform);
        if (std::ranges::find(all, path) == all.end())
            all.push_back(std::move(path));
    }
    return all;
}

std::vector<std::string> existing_directories(Files& files, const Loader& loader,
                                              std::span<const std::string> path,
                                              const std::string& origin)
{
    std::vector<std::string> all;
    for (const std::string& entry : path.first(std::min(path.size(), most_parts)))
        for (const std::string& expanded : expand(loader, entry, origin)) {
            if (!expanded.starts_with('/') || all.size() == most_directories
                || !files.may_search(expanded))
                continue;
            auto directory = files.directory(expanded);
            if (directory && std::ranges::find(all, *directory) == all.end())
                all.push_back(*std::move(directory));
        }
    return all;
}

} // namespace gpucontainer::linking
