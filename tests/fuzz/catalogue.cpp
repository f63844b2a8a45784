// SPDX-License-Identifier: MIT
#include "config/catalogue_file.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "search/site_catalogue.hpp"

#include "base/format.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/yaml_text.hpp"

#include <algorithm>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using config::FileRule;

const char* kind_of(const FileRule& rule)
{
    switch (rule.kind) {
    case FileRule::Kind::library:
        return "library";
    case FileRule::Kind::tool:
        return "tool";
    case FileRule::Kind::data:
        return "data";
    }
    return "";
}

std::string to_yaml(const std::vector<FileRule>& rules)
{
    std::string yaml = "vendor: " + rules.front().vendor + "\nfiles:\n";
    for (const FileRule& rule : rules) {
        yaml += base::format("  - {}: {}\n    capability: {}\n    also: {}\n    reason: {}\n",
                             kind_of(rule), in_quotes(rule.name), rule.capability, rule.also,
                             in_quotes(rule.reason));
        if (rule.kind == FileRule::Kind::library)
            yaml += base::format("    entry: {}\n    unversioned: {}\n    own: {}\n", rule.entry,
                                 rule.unversioned, rule.own);
        if (!rule.icd.empty())
            yaml += base::format("    icd: {}\n", in_quotes(rule.icd));
        if (!rule.module.empty())
            yaml += base::format("    module: {}\n", in_quotes(rule.module));
    }
    return yaml;
}

bool is_same(const FileRule& left, const FileRule& right)
{
    return left.vendor == right.vendor && left.kind == right.kind && left.name == right.name
           && left.capability == right.capability && left.also == right.also
           && left.entry == right.entry && left.unversioned == right.unversioned
           && left.reason == right.reason && left.icd == right.icd && left.module == right.module
           && left.own == right.own;
}

void check_round_trip(const std::vector<FileRule>& rules)
{
    const auto again = config::parse_catalogue(to_yaml(rules));
    demand(again.has_value(), "what was read can be written");
    demand(
        std::equal(rules.begin(), rules.end(), again->rules.begin(), again->rules.end(), is_same),
        "and is the same then");
}

bool is_known(const search::MergedCatalogue& catalogue, const FileRule& rule)
{
    const auto kind = *model::parse_file_kind(kind_of(rule));
    return model::find_rule(catalogue.of_driver(), kind, rule.name) != nullptr
           || model::find_rule(catalogue.of_site(), kind, rule.name) != nullptr;
}

/// Over the catalogue that is built in; twice, as two files of a directory may
/// say the same.
void check_merged(const std::vector<FileRule>& rules)
{
    search::SiteCatalogue site;
    site.rules = rules;
    site.rules.insert(site.rules.end(), rules.begin(), rules.end());
    const search::MergedCatalogue merged("nvidia", drivers::nvidia_catalogue(), site);
    demand(merged.of_driver().size() >= drivers::nvidia_catalogue().size(),
           "no rule that is built in is lost");
    demand(merged.of_driver().size() + merged.of_site().size()
               <= drivers::nvidia_catalogue().size() + rules.size(),
           "a rule counts once");
    for (const FileRule& rule : rules)
        demand(rule.vendor != "nvidia" || is_known(merged, rule), "a rule of the site counts");
}

} // namespace

/// A site's catalogue file, alone and over the built-in one.
void run(std::string_view input)
{
    const auto file = config::parse_catalogue(input);
    if (!file || file->rules.empty())
        return;
    for (const FileRule& rule : file->rules) {
        const bool is_path = rule.name.find('/') != std::string::npos;
        demand(config::check_name(rule).has_value() && !rule.reason.empty(),
               "a rule names a file, with a reason");
        demand(is_path == (rule.kind == FileRule::Kind::data), "data has a path, others a name");
    }
    check_round_trip(file->rules);
    check_merged(file->rules);
}

} // namespace gpucontainer::fuzz
