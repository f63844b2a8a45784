// SPDX-License-Identifier: MIT
#include "config/library_list.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "search/site_catalogue.hpp"

#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <string>

namespace gpucontainer::fuzz {
namespace {

std::string to_text(const config::LibraryList& list)
{
    std::string text;
    for (const config::FileRule& rule : list.rules)
        text += rule.name + "\n";
    for (const std::string& path : list.paths)
        text += path + "\n";
    return text;
}

} // namespace

/// A list in the form of Apptainer's.
void run(std::string_view input)
{
    const auto list = config::parse_library_list(input, "nvidia");
    if (!list)
        return;
    for (const config::FileRule& rule : list->rules)
        demand(config::check_name(rule).has_value(), "a name is that of a file");
    for (const std::string& path : list->paths)
        demand(path.starts_with('/'), "a path is absolute");

    const auto again = config::parse_library_list(to_text(*list), "nvidia");
    demand(again.has_value(), "what was read can be written");
    demand(std::ranges::equal(list->rules, again->rules, {}, &config::FileRule::name,
                              &config::FileRule::name)
               && list->paths == again->paths,
           "and is the same then");

    search::SiteCatalogue site;
    site.names = list->rules;
    const search::MergedCatalogue merged("nvidia", drivers::nvidia_catalogue(), site);
    demand(merged.of_driver().size() == drivers::nvidia_catalogue().size(),
           "a guess changes no rule");
}

} // namespace gpucontainer::fuzz
