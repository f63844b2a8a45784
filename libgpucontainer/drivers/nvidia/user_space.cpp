// SPDX-License-Identifier: MIT
#include "drivers/nvidia/user_space.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/directories.hpp"
#include "drivers/nvidia/tools.hpp"
#include "elf/facts.hpp"
#include "search/loader_path.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <tuple>

namespace gpucontainer::drivers::nvidia {

using model::Catalogue;
using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;
using model::FindingCode;
using model::VersionSource;

namespace {

constexpr std::size_t most_directories = 16;

/// What follows ".so." in a library's name; "" if nothing does.
std::string_view version_suffix(std::string_view file_name)
{
    constexpr std::string_view mark = ".so.";
    const auto at = file_name.find(mark);
    return at == std::string_view::npos ? std::string_view() : file_name.substr(at + mark.size());
}

bool has_component(std::string_view path, std::string_view component)
{
    const auto parts = base::split(path, '/');
    return std::find(parts.begin(), parts.end(), component) != parts.end();
}

std::string join(const std::string& directory, const std::string& name)
{
    return directory == "/" ? "/" + name : base::format("{}/{}", directory, name);
}

class Search {
public:
    Search(const host::DriverRoot& root, Catalogue catalogue, std::optional<std::string> version,
           VersionSource source)
        : root_(root), catalogue_(catalogue), wanted_version_(std::move(version)),
          is_of_module_(source == VersionSource::module)
    {
        std::copy_if(catalogue.begin(), catalogue.end(), std::back_inserter(unversioned_),
                     [](const CatalogueRule& rule) { return rule.unversioned; });
    }

    Result<UserSpace> run()
    {
        GPUCTR_CHECK(find_main_library());
        scan_directories();
        for (const CatalogueRule& rule : catalogue_)
            if (rule.kind == FileKind::library)
                look_up(rule);
        scan_directories();
        scan_module_directories();
        find_tools(root_, catalogue_, directories_.front(), found_.files, found_.findings);
        add_links();
        add_needs();
        report_missing();
        sort();
        found_.prefixes = prefixes_of(directories_);
        return std::move(found_);
    }

private:
    struct Candidate {
        std::string path;
        bool from_cache;
    };

    std::vector<Candidate> candidates(const std::string& soname) const
    {
        std::vector<Candidate> all;
        if (root_.loader_cache())
            for (const elf::CacheEntry& entry : root_.loader_cache()->lookup(soname))
                all.push_back({std::string(entry.value), true});
        return all;
    }

    Result<void> find_main_library()
    {
        const std::string soname(main_library);
        for (const Candidate& candidate : candidates(soname))
            if (take(candidate.path, soname))
                return use_directory_of_main_library();
        auto directories = root_.configured_directories();
        std::ranges::move(search::expand_directories(root_, odd_directories()),
                          std::back_inserter(directories));
        for (const std::string& directory : directories)
            if (take(join(directory, soname), soname)) {
                GPUCTR_CHECK(use_directory_of_main_library());
                // The name may be a link. Other parts then lie beside the link, and no loader cache
                // tells which.
                add_directory(directory);
                return {};
            }
        if (!root_.prefix().empty())
            directories.emplace_back("/"); // an unpacked driver has all its files there
        return find_unlinked_main_library(directories);
    }

    /// For a driver without links by ldconfig, such as an unpacked one.
    Result<void> find_unlinked_main_library(const std::vector<std::string>& directories)
    {
        constexpr std::string_view stem = "libcuda.so.";
        for (const std::string& directory : directories)
            for (const std::string& name : root_.list(directory))
                if (name.starts_with(stem) && is_driver_version(version_suffix(name))
                    && take(join(directory, name), std::string(main_library)))
                    return use_directory_of_main_library();
        return no_main_library();
    }

    Result<void> use_directory_of_main_library()
    {
        const std::string& path = found_.files.front().path;
        found_.version = version_suffix(base::name_of(path));
        found_.library_directory = base::directory_of(path);
        add_directory(
            std::string(base::directory_of(std::string_view(path).substr(root_.prefix().size()))));
        return {};
    }

    Error no_main_library()
    {
        std::string others;
        bool has_other_version = false;
        for (const model::Finding& finding : found_.findings)
            if (finding.object == main_library) {
                has_other_version |= finding.code == FindingCode::version_differs;
                others += base::format("{}{} {}", others.empty() ? "" : "; ", finding.evidence,
                                       finding.text);
            }
        const std::string wanted =
            wanted_version_ ? base::format(" of version {}", *wanted_version_) : "";
        const std::string where = root_.prefix().empty() ? "on this host" : "in " + root_.prefix();
        std::string message = base::format("no {}{} {}", main_library, wanted, where);
        if (!others.empty())
            message += ": " + others;
        return Error(others.empty() ? Errc::no_device : Errc::driver, std::move(message))
            .with_object(std::string(main_library))
            .with_hint(advice(has_other_version));
    }

    const char* advice(bool has_other_version) const
    {
        if (is_foreign_ && !has_other_version)
            return "name a driver root whose files are for this machine's architecture";
        if (!has_other_version)
            return "install the driver's user space, or name its directory as driver root";
        if (!is_of_module_)
            return "name a version that is installed, or another driver root";
        return "user space and kernel module must be of one version: reboot, or reload the "
               "module, after a driver update";
    }

    /// Takes the first candidate of the loader cache, as the loader does. Its directory is then
    /// searched for other parts of the driver.
    void look_up(const CatalogueRule& rule)
    {
        const std::string soname = model::soname_of(rule, found_.version);
        if (has(soname))
            return;
        for (const Candidate& candidate : candidates(soname))
            if (const DriverFile* file = take(candidate.path, soname)) {
                add_directory(std::string(base::directory_of(
                    std::string_view(file->path).substr(root_.prefix().size()))));
                return;
            }
    }

    void add_directory(std::string directory)
    {
        const auto same = std::find(directories_.begin(), directories_.end(), directory);
        if (same == directories_.end() && directories_.size() < most_directories)
            directories_.push_back(std::move(directory));
    }

    /// Finds all other files of this driver beside its libraries, also unknown ones: each release
    /// of the driver has files that a list of names lacks.
    void scan_directories()
    {
        for (; scanned_ < directories_.size(); ++scanned_)
            if (const auto directory = root_.open_directory(directories_[scanned_]))
                scan(*directory);
    }

    void scan(const host::DriverRoot::Directory& directory)
    {
        std::vector<std::string> names;
        root_.visit(directory, [&](std::string_view name) {
            if (is_part_of_driver(name))
                names.emplace_back(name);
            if (name.ends_with(".so"))
                development_names_.emplace(name);
        });
        std::sort(names.begin(), names.end());
        for (const std::string& name : names)
            consider(root_.open_in(directory, name),
                     base::format("{}/{}", directory.real_path, name), "");
    }

    void scan_module_directories()
    {
        for (const std::string& place : module_directories(catalogue_, directories_))
            if (const auto directory = root_.open_directory(place))
                scan(*directory);
    }

    bool is_part_of_driver(std::string_view name) const
    {
        const std::string_view version = version_suffix(name);
        if (name.ends_with(".so"))
            return std::ranges::find(unversioned_, name, &CatalogueRule::name)
                   != unversioned_.end();
        if (version.empty() || version == found_.version)
            return !version.empty();
        return model::find_rule(unversioned_, FileKind::library, name) != nullptr;
    }

    const DriverFile* take(const std::string& path, const std::string& soname)
    {
        return consider(root_.open_file(path), path, soname);
    }

    /// The file at `path` if it is part of the driver; otherwise null, and the reason goes to
    /// `findings`. If `soname` is not "", it must be a library with that soname.
    const DriverFile* consider(const Result<host::DriverRoot::File>& opened,
                               const std::string& path, const std::string& soname)
    {
        const std::string name(soname.empty() ? base::name_of(path) : soname);
        if (!opened) {
            if (opened.error().os_error() != ENOENT)
                skip(name, path, opened.error().cause());
            return nullptr;
        }
        const std::pair file_id(opened->status.st_dev, opened->status.st_ino);
        if (seen_.contains(file_id))
            return nullptr;
        // This is about the path: by another path, the same file may be taken.
        if (auto reason = objection(path, opened->real_path); !reason.empty()) {
            skip(name, path, std::move(reason));
            return nullptr;
        }
        seen_.insert(file_id);
        if (const auto differs = other_version_of(*opened)) {
            skip(name, path, *differs, FindingCode::version_differs);
            return nullptr;
        }
        if (lacks_version(*opened, name)) {
            skip(name, path, "has no driver version in its name");
            return nullptr;
        }
        auto facts = root_.noted(elf::read_facts(opened->fd.get()), path);
        if (facts && facts->soname.empty())
            facts->soname = name_without_soname(opened->real_path);
        is_foreign_ |= facts && !elf::is_native(*facts);
        if (auto reason = objection(facts, soname); !reason.empty()) {
            skip(name, path, std::move(reason));
            return nullptr;
        }
        if (has(facts->soname) || has(std::string(base::name_of(opened->real_path)))) {
            skip(name, path, "another file of the same name was found first");
            return nullptr;
        }
        add_library(*opened, *facts);
        return &found_.files.back();
    }

    static std::string objection(const std::string& path, const std::string& real_path)
    {
        if (has_component(path, "stubs") || has_component(real_path, "stubs"))
            return "is a stub to link against, not the driver";
        if (has_component(path, "compat") || has_component(real_path, "compat"))
            return "is a forward-compatibility copy of the CUDA toolkit";
        return "";
    }

    bool lacks_version(const host::DriverRoot::File& file, const std::string& name) const
    {
        const CatalogueRule* rule = model::find_rule(catalogue_, FileKind::library, name);
        return !is_driver_version(version_suffix(base::name_of(file.real_path)))
               && (rule == nullptr || !rule->unversioned);
    }

    /// The version of the file, and the one that it should have; none if they are the same.
    std::optional<std::string> other_version_of(const host::DriverRoot::File& file) const
    {
        const std::string_view version = version_suffix(base::name_of(file.real_path));
        const auto& wanted = found_.version.empty() ? wanted_version_ : found_.version;
        if (!is_driver_version(version) || !wanted || version == *wanted)
            return std::nullopt;
        return base::format("is version {}{} {}", version,
                            is_of_module_ ? "; the kernel module is version" : ", not", *wanted);
    }

    static std::string objection(const Result<elf::Facts>& facts, const std::string& soname)
    {
        if (!facts)
            return facts.error().message();
        if (!elf::is_native(*facts))
            return base::format("is for {}", elf::machine_name(facts->machine));
        if (facts->soname.empty())
            return "has no soname";
        if (!soname.empty() && facts->soname != soname)
            return base::format("has the soname {}", facts->soname);
        return "";
    }

    /// Programs load such a library by its file's name, or by the one that the catalogue has. ""
    /// if it should have a soname.
    std::string name_without_soname(std::string_view path) const
    {
        const std::string_view name = base::name_of(path);
        const CatalogueRule* const rule = model::find_rule(catalogue_, FileKind::library, name);
        if (rule == nullptr)
            return std::string(name);
        return rule->name.ends_with(".so") ? std::string(rule->name) : "";
    }

    void add_library(const host::DriverRoot::File& opened, const elf::Facts& facts)
    {
        const std::string& soname = facts.soname;
        DriverFile file = describe(root_, opened, FileKind::library);
        file.soname = soname;
        file.capability = model::Capability::compute;
        file.reason = "of this driver's version, though the catalogue does not name it";
        file.registrations = {{model::Manner::loader}};
        if (const CatalogueRule* rule = model::find_rule(catalogue_, FileKind::library, soname)) {
            file.classify(*rule);
            if (rule->entry)
                file.entry_names.push_back(soname);
            if (!rule->loads.empty())
                for (const std::string_view loaded : base::split(rule->loads, ','))
                    file.needed.push_back(model::with_version(loaded, found_.version));
        }
        file.needed.insert(file.needed.end(), facts.needed.begin(), facts.needed.end());
        if (soname != file.name)
            file.links.push_back(soname);
        names_.insert({soname, file.name});
        found_.files.push_back(std::move(file));
    }

    /// Adds the names that a linker looks for, if the driver has them: some programs compile and
    /// link at run time.
    void add_links()
    {
        for (DriverFile& file : found_.files) {
            if (file.kind != FileKind::library)
                continue;
            const std::string development = file.soname.substr(0, file.soname.find(".so") + 3);
            if (has(development) || !development_names_.contains(development))
                continue;
            for (const std::string& directory : directories_) {
                const auto status = root_.look(join(directory, development));
                if (status && model::FileId::of(*status) == file.id) {
                    file.links.push_back(development);
                    names_.insert(development);
                    break;
                }
            }
        }
    }

    /// Keeps what the driver itself has of what its libraries need.
    void add_needs()
    {
        for (DriverFile& file : found_.files) {
            auto& needed = file.needed;
            std::erase_if(needed, [&](const std::string& soname) {
                return soname == file.soname
                       || std::ranges::find(found_.files, soname, &DriverFile::soname)
                              == found_.files.end();
            });
            std::ranges::sort(needed);
            needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        }
    }

    void report_missing()
    {
        for (const CatalogueRule& rule : catalogue_) {
            if (rule.kind != FileKind::library)
                continue;
            const std::string soname = model::soname_of(rule, found_.version);
            if (has(soname)
                || std::ranges::find(found_.findings, soname, &model::Finding::object)
                       != found_.findings.end()
                || report_dangling(rule, soname))
                continue;
            if (rule.entry)
                skip(soname, directories_.front(), "not installed", FindingCode::not_installed);
        }
    }

    /// A removed driver may have left its names.
    bool report_dangling(const CatalogueRule& rule, const std::string& soname)
    {
        std::vector<Candidate> places = candidates(soname);
        if (rule.entry)
            for (const std::string& directory : directories_)
                places.push_back({join(directory, soname), false});
        for (const Candidate& place : places)
            if (auto reason = loss(place); !reason.empty()) {
                skip(soname, place.path, std::move(reason));
                return true;
            }
        return false;
    }

    /// How a name lost its file; "" if it did not, or there is no such name.
    std::string loss(const Candidate& place) const
    {
        const auto target = root_.link_target(place.path);
        if (!target && !place.from_cache)
            return "";
        const auto status = root_.look(place.path);
        if (status || status.error().os_error() != ENOENT)
            return "";
        return target ? base::format("is a link to {}, which is not there", *target)
                      : "is in the loader cache, but not there";
    }

    void sort()
    {
        std::sort(found_.files.begin(), found_.files.end(), [](const auto& a, const auto& b) {
            return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
        });
    }

    bool has(const std::string& name) const { return names_.contains(name); }

    void skip(std::string name, const std::string& source, std::string reason,
              FindingCode code = FindingCode::file_unusable)
    {
        found_.findings.push_back(
            {code, std::move(name), std::move(reason), root_.prefix() + source});
    }

    const host::DriverRoot& root_;
    Catalogue catalogue_;
    /// A short list, because it is searched for each name of a directory.
    std::vector<CatalogueRule> unversioned_;
    std::optional<std::string> wanted_version_;
    bool is_of_module_ = false; ///< The wanted version is the loaded kernel module's.
    bool is_foreign_ = false;   ///< Files for another machine were found.
    UserSpace found_;
    std::vector<std::string> directories_; ///< In the driver root; the main library's first.
    std::size_t scanned_ = 0;              ///< Number of those that were searched.
    std::set<std::string> development_names_;
    std::set<std::string> names_; ///< Sonames and names of the files taken.
    std::set<std::pair<dev_t, ino_t>> seen_;
};

} // namespace

bool is_driver_version(std::string_view text)
{
    const auto dot = text.find('.');
    if (dot == std::string_view::npos
        || text.find_first_not_of("0123456789.") != std::string_view::npos)
        return false;
    constexpr std::uint64_t first_series = 300;
    return base::to_number(text.substr(0, dot)).value_or(0) >= first_series;
}

Result<UserSpace> find_user_space(const host::DriverRoot& root, Catalogue catalogue,
                                  const std::optional<std::string>& version, VersionSource source)
{
    return Search(root, catalogue, version, source).run();
}

} // namespace gpucontainer::drivers::nvidia
