// SPDX-License-Identifier: MIT
#include "search/site_files.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "config/catalogue_file.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace gpucontainer::search {

using model::CatalogueRule;
using model::DriverFile;
using model::DriverStack;
using model::Finding;

namespace {

/// Whether the rule is about a library that the loader knows as `name`.
bool names(const CatalogueRule& rule, std::string_view name)
{
    if (!rule.name.ends_with(".so"))
        return name == rule.name;
    return name.starts_with(rule.name)
           && (name.size() == rule.name.size() || name[rule.name.size()] == '.');
}

class SiteSearch {
public:
    SiteSearch(const host::DriverRoot& root, model::Catalogue rules,
               bool (*is_driver_version)(std::string_view), DriverStack& driver)
        : root_(root), is_driver_version_(is_driver_version), driver_(driver)
    {
        for (const DriverFile& file : driver.files) {
            if (file.compat32)
                continue;
            taken_.insert({file.soname, file.name});
            taken_.insert(file.links.begin(), file.links.end());
        }
        for (const CatalogueRule& rule : rules) {
            if (rule.capability == model::Capability::none || is_taken(rule))
                continue;
            if (rule.kind == model::FileKind::tool)
                tools_.push_back(&rule);
            else
                libraries_.emplace(config::stem_of(library, rule.name), &rule);
        }
    }

    void run()
    {
        if (!libraries_.empty())
            look_in_cache();
        std::erase_if(libraries_, [&](const auto& wanted) { return is_taken(*wanted.second); });
        if (!libraries_.empty())
            for (const std::string& directory : root_.configured_directories())
                for (const std::string& name : root_.list(directory))
                    take_library(name, base::format("{}/{}", directory, name));
        for (const CatalogueRule* rule : tools_)
            find_tool(*rule);
        report_missing();
    }

private:
    static constexpr auto library = config::FileRule::Kind::library;

    bool is_taken(const CatalogueRule& rule) const
    {
        return std::any_of(taken_.begin(), taken_.end(),
                           [&](const std::string& name) { return names(rule, name); });
    }

    void look_in_cache()
    {
        if (!root_.loader_cache())
            return;
        for (const elf::CacheEntry& entry : root_.loader_cache()->entries())
            if (root_.is_loaded(entry))
                take_library(entry.key, std::string(entry.value));
    }

    /// Adds the file that the loader knows as `name`, if a rule is about it.
    void take_library(std::string_view name, const std::string& path)
    {
        const auto wanted = libraries_.find(config::stem_of(library, name));
        if (wanted == libraries_.end() || !names(*wanted->second, name))
            return;
        const CatalogueRule& rule = *wanted->second;
        const auto opened = root_.open_file(path);
        if (!opened)
            return object(rule, path, opened.error().cause());
        if (auto reason = objection_to_version(opened->real_path); !reason.empty())
            return object(rule, path, std::move(reason));
        const auto facts = root_.noted(elf::read_facts(opened->fd.get()), path);
        if (auto reason = objection(facts, rule); !reason.empty())
            return object(rule, path, std::move(reason));

        DriverFile file = describe(*opened, rule);
        if (taken_.contains(facts->soname) || taken_.contains(file.name))
            return;
        file.soname = facts->soname;
        if (file.soname != file.name)
            file.links.push_back(file.soname);
        if (rule.entry)
            file.entry_names.push_back(file.soname);
        if (!rule.links.empty())
            for (const std::string_view link : base::split(rule.links, ','))
                file.links.push_back(model::with_version(link, driver_.version));
        if (rule.neutral) {
            auto versions = read_version_needs(opened->fd.get());
            if (!versions)
                return object(rule, path, versions.error().message());
            file.versions = *std::move(versions);
            std::ranges::copy_if(
                facts->needed, std::back_inserter(file.needed),
                [](const std::string& needed) { return !is_of_c_library(needed); });
        }
        add(std::move(file));
    }

    std::string objection_to_version(std::string_view real_path) const
    {
        constexpr std::string_view mark = ".so.";
        const std::string_view name = base::name_of(real_path);
        const auto at = name.find(mark);
        const auto version =
            at == std::string_view::npos ? std::string_view() : name.substr(at + mark.size());
        if (!is_driver_version_(version) || version == driver_.version)
            return "";
        return base::format("is version {}; the driver is version {}", version, driver_.version);
    }

    std::string objection(const Result<elf::Facts>& facts, const CatalogueRule& rule) const
    {
        if (!facts)
            return facts.error().message();
        if (!elf::is_for(*facts, root_.machine()))
            return base::format("is for {}", elf::machine_name(facts->machine));
        if (facts->soname.empty())
            return "has no soname";
        if (!names(rule, facts->soname))
            return base::format("has the soname {}", facts->soname);
        return "";
    }

    void find_tool(const CatalogueRule& rule)
    {
        const std::string_view libraries =
            std::string_view(driver_.library_directory).substr(root_.prefix().size());
        const std::string beside = std::string(base::directory_of(libraries)) + "/bin";
        for (const std::string_view directory :
             {std::string_view(beside), std::string_view("/usr/bin"), std::string_view("/usr/sbin"),
              std::string_view("/usr/local/bin"), std::string_view("/usr/local/sbin")}) {
            const std::string path = base::format("{}/{}", directory, rule.name);
            const auto opened = root_.open_file(path);
            if (!opened)
                continue;
            const auto facts = root_.noted(elf::read_facts(opened->fd.get()), path);
            if (!facts || !elf::is_for(*facts, root_.machine())) {
                object(rule, path, facts ? "is for another machine" : "is not an ELF program");
                continue;
            }
            DriverFile file = describe(*opened, rule);
            file.name = rule.name;
            file.entry_names.push_back(file.name);
            return add(std::move(file));
        }
    }

    DriverFile describe(const host::DriverRoot::File& opened, const CatalogueRule& rule) const
    {
        DriverFile file;
        file.kind = rule.kind;
        file.classify(rule);
        file.name = base::name_of(opened.real_path);
        file.path = root_.prefix() + opened.real_path;
        file.id = model::FileId::of(opened.status);
        return file;
    }

    void add(DriverFile file)
    {
        taken_.insert({file.soname, file.name});
        driver_.files.push_back(std::move(file));
    }

    /// An objection counts only if nothing better is found. The first one is kept, because the
    /// loader would choose that file.
    void object(const CatalogueRule& rule, const std::string& path, std::string reason)
    {
        objections_.try_emplace(&rule,
                                Finding{model::FindingCode::file_unusable, std::string(rule.name),
                                        std::move(reason), root_.prefix() + path});
    }

    void report_missing()
    {
        for (const auto& [stem, rule] : libraries_)
            report_unless_taken(*rule);
        for (const CatalogueRule* rule : tools_)
            report_unless_taken(*rule);
    }

    void report_unless_taken(const CatalogueRule& rule)
    {
        if (is_taken(rule))
            return;
        const auto known = objections_.find(&rule);
        driver_.findings.push_back(
            known != objections_.end()
                ? std::move(known->second)
                : Finding{model::FindingCode::not_installed, std::string(rule.name),
                          "not found; a rule of this site names it", driver_.root});
    }

    const host::DriverRoot& root_;
    bool (*is_driver_version_)(std::string_view);
    DriverStack& driver_;
    std::map<std::string_view, const CatalogueRule*> libraries_; ///< By their stems.
    std::vector<const CatalogueRule*> tools_;
    std::map<const CatalogueRule*, Finding> objections_;
    std::set<std::string> taken_; ///< Names of the files that the driver has.
};

} // namespace

void add_site_files(const host::DriverRoot& root, model::Catalogue rules,
                    bool (*is_driver_version)(std::string_view), DriverStack& driver)
{
    if (rules.empty())
        return;
    SiteSearch(root, rules, is_driver_version, driver).run();
    sort(driver.files);
}

void sort(std::vector<DriverFile>& files)
{
    std::ranges::sort(files, [](const auto& a, const auto& b) {
        return std::tie(a.kind, a.name, a.compat32) < std::tie(b.kind, b.name, b.compat32);
    });
}

} // namespace gpucontainer::search
