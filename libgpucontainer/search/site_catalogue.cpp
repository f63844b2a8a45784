// SPDX-License-Identifier: MIT
#include "search/site_catalogue.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "config/library_list.hpp"
#include "config/trusted_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <utility>

namespace gpucontainer::search {

using model::CatalogueRule;
using model::FileKind;

namespace {

template <typename T>
void append(std::vector<T>& to, std::vector<T> from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// Null if the file is a catalogue.
const ListFile* find_list(std::span<const ListFile> lists, const std::string& path)
{
    const auto found = std::ranges::find(lists, base::name_of(path), &ListFile::name);
    return found == lists.end() ? nullptr : &*found;
}

Error explained(Error error, const std::string& path, const char* form)
{
    return std::move(error).context(path).with_object(path).with_hint(form);
}

Result<void> add_rules(SiteCatalogue& site, const std::string& path, std::string_view text)
{
    auto file = config::parse_catalogue(text);
    if (!file)
        return explained(std::move(file).error(), path,
                         "write a catalogue as docs/configuration.md describes");
    site.vendors.push_back(
        {std::move(file->vendor), path, file->vendor_line, std::move(file->maker)});
    append(site.rules, std::move(file->rules));
    return {};
}

Result<void> add_list(SiteCatalogue& site, const std::string& path, std::string_view text,
                      std::string_view vendor)
{
    auto list = config::parse_library_list(text, vendor);
    if (!list)
        return explained(std::move(list).error(), path,
                         "write one name on each line: a library (NAME.so) or a tool");
    append(site.names, std::move(list->rules));
    for (std::string& entry : list->paths)
        site.findings.push_back(
            {model::FindingCode::rule_ignored, std::string(base::name_of(entry)),
             base::format("named by its path in {}; only names of libraries and tools count", path),
             entry});
    return {};
}

FileKind kind_of(const config::FileRule& rule)
{
    switch (rule.kind) {
    case config::FileRule::Kind::tool:
        return FileKind::tool;
    case config::FileRule::Kind::data:
        return FileKind::data;
    case config::FileRule::Kind::library:
        break;
    }
    return FileKind::library;
}

CatalogueRule rule_of(const config::FileRule& rule)
{
    return {kind_of(rule),
            model::parse_capability(rule.capability).value_or(model::Capability::none),
            model::parse_capability(rule.also).value_or(model::Capability::none),
            rule.name,
            rule.entry,
            rule.unversioned,
            rule.reason,
            rule.icd,
            rule.module,
            rule.own,
            rule.manifests,
            rule.loads,
            rule.neutral,
            rule.links};
}

CatalogueRule* find(std::vector<CatalogueRule>& rules, const CatalogueRule& like)
{
    const CatalogueRule* found = model::find_rule(rules, like.kind, like.name);
    return found == nullptr ? nullptr : &rules[static_cast<std::size_t>(found - rules.data())];
}

/// An absolute path without "." and ".." stays as it is, because a link in it may be changed. Other
/// paths are resolved; "" if they do not exist.
std::string absolute(const std::string& path)
{
    const auto names = base::split(path, '/');
    const bool is_plain =
        path.starts_with('/') && std::all_of(names.begin() + 1, names.end(), [](auto name) {
            return !name.empty() && name != "." && name != "..";
        });
    if (is_plain)
        return path;
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           std::free);
    return real ? real.get() : "";
}

} // namespace

Result<SiteCatalogue> read_site_catalogue(const std::string& directory,
                                          const std::vector<std::string>& files,
                                          std::span<const ListFile> lists)
{
    SiteCatalogue site;
    const auto add = [&](const std::string& path, std::string_view text) {
        const ListFile* const list = find_list(lists, path);
        return list == nullptr ? add_rules(site, path, text)
                               : add_list(site, path, text, list->vendor);
    };
    if (!directory.empty()) {
        constexpr const char* argument = "catalogue_dir";
        GPUCTR_TRY(const auto paths, about(argument, config::list_trusted(directory)),
                   "catalogues");
        for (const std::string& path : paths) {
            if (!path.ends_with(".yaml") && find_list(lists, path) == nullptr)
                continue;
            GPUCTR_TRY(const auto text, about(argument, config::read_trusted(path)), "catalogue");
            if (text)
                GPUCTR_CHECK(about(argument, add(path, *text)), "catalogue");
        }
    }
    for (const std::string& path : files) {
        constexpr const char* argument = "catalogues";
        GPUCTR_TRY(const auto text, about(argument, config::read_trusted(path)), "catalogue");
        if (!text)
            return Error::from_errno(ENOENT, "catalogue " + path, Errc::usage)
                .with_object(path)
                .with_argument(argument);
        GPUCTR_CHECK(about(argument, add(path, *text)), "catalogue");
    }
    return site;
}

std::vector<std::string> site_places(const std::string& directory,
                                     const std::vector<std::string>& files)
{
    std::vector<std::string> places;
    const auto add = [&](const std::string& path) {
        if (std::string place = absolute(path); !place.empty())
            places.push_back(std::move(place));
    };
    if (!directory.empty()) {
        add(directory);
        if (const auto names = base::list_directory(AT_FDCWD, directory))
            for (const std::string& name : *names)
                add(base::format("{}/{}", directory, name));
    }
    std::ranges::for_each(files, add);
    return places;
}

MergedCatalogue::MergedCatalogue(std::string_view vendor, model::Catalogue built_in,
                                 const SiteCatalogue& site)
    : driver_(built_in.begin(), built_in.end())
{
    for (const config::FileRule& rule : site.rules)
        if (rule.vendor == vendor)
            add(rule);
    for (const config::FileRule& rule : site.names)
        if (rule.vendor == vendor)
            add_name(rule);
}

std::vector<CatalogueRule> MergedCatalogue::all() const
{
    std::vector<CatalogueRule> rules = driver_;
    rules.insert(rules.end(), site_.begin(), site_.end());
    return rules;
}

void MergedCatalogue::add(const config::FileRule& given)
{
    CatalogueRule rule = rule_of(given);
    CatalogueRule* const known = find(driver_, rule);
    if (known != nullptr) {
        // The site decides what a file is needed for; its name and how it is found stay as they
        // are.
        rule.name = known->name;
        rule.entry = rule.entry || known->entry;
        rule.unversioned = rule.unversioned || known->unversioned;
        rule.own = rule.own || known->own;
        if (rule.icd.empty())
            rule.icd = known->icd;
        if (rule.module.empty())
            rule.module = known->module;
        if (rule.manifests.empty())
            rule.manifests = known->manifests;
        if (rule.loads.empty())
            rule.loads = known->loads;
        rule.neutral = rule.neutral || known->neutral;
        if (rule.links.empty())
            rule.links = known->links;
        *known = rule;
    }
    const bool of_driver = rule.kind == FileKind::tool ? known != nullptr : !rule.unversioned;
    if (of_driver) {
        if (known == nullptr)
            driver_.push_back(rule);
        return;
    }
    if (CatalogueRule* const earlier = find(site_, rule))
        *earlier = rule;
    else
        site_.push_back(rule);
}

void MergedCatalogue::add_name(const config::FileRule& given)
{
    const CatalogueRule rule = rule_of(given);
    if (find(driver_, rule) == nullptr && find(site_, rule) == nullptr)
        site_.push_back(rule);
}

} // namespace gpucontainer::search
