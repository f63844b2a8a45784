// SPDX-License-Identifier: MIT
#include "search/closed_set.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/ld_cache.hpp"
#include "search/data_file.hpp"
#include "search/library_graph.hpp"
#include "search/loader_path.hpp"
#include "search/script.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace gpucontainer::search {

using model::Capability;
using model::Catalogue;
using model::CatalogueRule;
using model::FileKind;

namespace {

/// The name of a rule's file. A library's name that ends in ".so" stands for all versions.
std::string name_of(const CatalogueRule& rule)
{
    return std::string(rule.name.substr(0, rule.name.find(".{version}")));
}

bool is_of_any_version(std::string_view name) { return name.ends_with(".so"); }

class Search {
public:
    Search(const host::DriverRoot& root, Catalogue catalogue,
           std::span<const std::string> directories)
        : root_(root), catalogue_(catalogue), directories_(expand_directories(root, directories)),
          graph_(root, catalogue, directories_)
    {
    }

    ClosedSet run()
    {
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::library && rule.capability != Capability::none)
                find_library(rule);
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::tool && rule.capability != Capability::none)
                find_tool(rule);
        ClosedSet set = graph_.take();
        if (!set.files.empty()) {
            std::ranges::move(scripts_, std::back_inserter(set.files));
            add_data(root_, catalogue_, graph_.installation(), set.files, set.findings,
                     {{}, {}, {graph_.home()}});
        }
        std::ranges::sort(set.files, [](const auto& a, const auto& b) {
            return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
        });
        report_missing(set);
        return set;
    }

private:
    void find_library(const CatalogueRule& rule)
    {
        const std::string name = name_of(rule);
        if (is_of_any_version(name) && rule.module.empty()) {
            find_versions(rule, name);
            return;
        }
        for (const std::string& directory : directories_)
            if (graph_.add_library(rule, base::format("{}/{}", directory, name), name))
                return;
        for (const std::string& path : graph_.cached(name))
            if (graph_.add_library(rule, path, name))
                return;
        for (const std::string& directory : graph_.loader_directories())
            if (graph_.add_library(rule, base::format("{}/{}", directory, name), name))
                return;
    }

    /// Newer versions come first; the first library of each soname is taken.
    void find_versions(const CatalogueRule& rule, const std::string& stem)
    {
        for (const std::string& directory : directories_)
            add_versions(rule, directory, stem);
        if (!root_.loader_cache()) {
            for (const std::string& directory : graph_.loader_directories())
                add_versions(rule, directory, stem);
            return;
        }
        for (const elf::CacheEntry& entry : cache_entries())
            if (is_version_of(entry.key, stem))
                (void)graph_.add_library(rule, std::string(entry.value), std::string(entry.key));
    }

    static bool is_version_of(std::string_view name, std::string_view stem)
    {
        return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '.');
    }

    void add_versions(const CatalogueRule& rule, const std::string& directory,
                      const std::string& stem)
    {
        std::vector<std::string> names;
        for (const std::string& name : names_in(directory))
            if (is_version_of(name, stem))
                names.push_back(name);
        std::ranges::sort(
            names, [](const auto& a, const auto& b) { return elf::compare_names(a, b) > 0; });
        for (const std::string& name : names)
            (void)graph_.add_library(rule, base::format("{}/{}", directory, name), name);
    }

    const std::vector<std::string>& names_in(const std::string& directory)
    {
        const auto [names, is_new] = listed_.try_emplace(directory);
        if (is_new)
            names->second = root_.list(directory);
        return names->second;
    }

    const std::vector<elf::CacheEntry>& cache_entries()
    {
        if (cache_entries_.empty())
            for (const elf::CacheEntry& entry : root_.loader_cache()->entries())
                if (root_.is_loaded(entry))
                    cache_entries_.push_back(entry);
        return cache_entries_;
    }

    void find_tool(const CatalogueRule& rule)
    {
        for (const std::string& directory : tool_directories()) {
            const std::string path = base::format("{}/{}", directory, rule.name);
            if (auto script = find_script(root_, rule, path, catalogue_, graph_.installation())) {
                scripts_.push_back(*std::move(script));
                return;
            }
            if (graph_.add_tool(rule, path))
                return;
        }
    }

    std::vector<std::string> tool_directories() const
    {
        std::vector<std::string> all;
        const auto add = [&](std::string directory) {
            if (std::ranges::find(all, directory) == all.end())
                all.push_back(std::move(directory));
        };
        if (!graph_.installation().prefix().empty())
            add(graph_.installation().prefix() + "/bin");
        for (const std::string& directory : directories_)
            add(std::string(base::directory_of(directory)) + "/bin");
        for (const char* directory : {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})
            add(directory);
        return all;
    }

    void report_missing(ClosedSet& set) const
    {
        const auto is_there = [&](const CatalogueRule& rule) {
            const auto same = [&](const std::string& name) {
                return model::find_rule({&rule, 1}, rule.kind, name) != nullptr;
            };
            return std::ranges::any_of(set.files,
                                       [&](const model::DriverFile& file) {
                                           return same(file.kind == FileKind::library ? file.soname
                                                                                      : file.name);
                                       })
                   || std::ranges::any_of(set.findings, same, &model::Finding::object);
        };
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::library && rule.entry && rule.capability != Capability::none
                && !is_there(rule))
                set.findings.push_back({model::FindingCode::not_installed, name_of(rule),
                                        "not installed", root_.prefix() + "/"});
    }

    const host::DriverRoot& root_;
    Catalogue catalogue_;
    std::vector<std::string> directories_;
    LibraryGraph graph_;
    std::vector<model::DriverFile> scripts_;
    std::map<std::string, std::vector<std::string>> listed_;
    std::vector<elf::CacheEntry> cache_entries_;
};

} // namespace

Result<ClosedSet> find_closed_set(const host::DriverRoot& root, Catalogue catalogue,
                                  std::span<const std::string> directories)
{
    ClosedSet set = Search(root, catalogue, directories).run();
    GPUCTR_CHECK(root.check());
    return set;
}

} // namespace gpucontainer::search
