// SPDX-License-Identifier: MIT
#include "config/library_list.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <set>
#include <utility>

namespace gpucontainer::config {
namespace {

constexpr std::size_t max_lines = 4096;

FileRule rule_for(std::string_view name, std::string_view vendor, std::size_t line)
{
    FileRule rule;
    rule.line = line;
    rule.vendor = vendor;
    rule.kind =
        name.find(".so") != std::string_view::npos ? FileRule::Kind::library : FileRule::Kind::tool;
    rule.name = name;
    rule.capability = "compute";
    rule.unversioned = rule.kind == FileRule::Kind::library;
    rule.reason = "named in the site's list of libraries";
    return rule;
}

} // namespace

Result<LibraryList> parse_library_list(std::string_view text, std::string_view vendor)
{
    const auto lines = base::split(text, '\n');
    if (lines.size() > max_lines)
        return Error(Errc::usage, base::format("more than {} lines", max_lines));

    LibraryList list;
    std::set<std::pair<FileRule::Kind, std::string>> known;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string_view name = base::trim(lines[i]);
        if (name.empty() || name.starts_with('#'))
            continue;
        if (name.starts_with('/')) {
            list.paths.emplace_back(name);
            continue;
        }
        FileRule rule = rule_for(name, vendor, i + 1);
        GPUCTR_CHECK(check_name(rule));
        if (known.emplace(rule.kind, stem_of(rule.kind, rule.name)).second)
            list.rules.push_back(std::move(rule));
    }
    return list;
}

} // namespace gpucontainer::config
