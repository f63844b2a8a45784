// SPDX-License-Identifier: MIT
#include "drivers/nvidia/libraries.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/nvidia/directories.hpp"
#include "drivers/nvidia/tools.hpp"
#include "elf/ld_cache.hpp"
#include "search/c_library.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace gpucontainer::drivers::nvidia {

using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;
using model::FindingCode;

namespace {

constexpr std::size_t most_directories = 16;

bool has_component(std::string_view path, std::string_view component)
{
    const auto parts = base::split(path, '/');
    return std::find(parts.begin(), parts.end(), component) != parts.end();
}

std::string objection_to_place(const std::string& path, const std::string& real_path)
{
    if (has_component(path, "stubs") || has_component(real_path, "stubs"))
        return "is a stub to link against, not the driver";
    if (has_component(path, "compat") || has_component(real_path, "compat"))
        return "is a forward-compatibility copy of the CUDA toolkit";
    return "";
}

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

std::string_view version_suffix(std::string_view file_name)
{
    constexpr std::string_view mark = ".so.";
    const auto at = file_name.find(mark);
    return at == std::string_view::npos ? std::string_view() : file_name.substr(at + mark.size());
}

std::string join(const std::string& directory, const std::string& name)
{
    return directory == "/" ? "/" + name : base::format("{}/{}", directory, name);
}

LibrarySearch::LibrarySearch(const host::DriverRoot& root, WantedLibraries wanted)
    : root_(root), wanted_(std::move(wanted)),
      machine_(elf::machine_for(root.machine(), wanted_.compat32))
{
    std::copy_if(wanted_.catalogue.begin(), wanted_.catalogue.end(),
                 std::back_inserter(unversioned_),
                 [](const CatalogueRule& rule) { return rule.unversioned; });
}

std::vector<LibrarySearch::Candidate> LibrarySearch::candidates(const std::string& soname) const
{
    std::vector<Candidate> all;
    for (const elf::CacheEntry& entry : root_.cached(soname, *machine_))
        all.push_back({std::string(entry.value), true});
    return all;
}

void LibrarySearch::run()
{
    scan_directories();
    for (const CatalogueRule& rule : wanted_.catalogue)
        if (rule.kind == FileKind::library && !rule.neutral)
            look_up(rule);
    scan_directories();
    scan_module_directories();
    add_links();
    for (const CatalogueRule& rule : wanted_.catalogue)
        if (rule.kind == FileKind::library && rule.neutral)
            look_up_neutral(rule);
    add_needs();
}

/// Takes the first candidate of the loader cache, as the loader does. Its directory is then
/// searched for other parts of the driver.
void LibrarySearch::look_up(const CatalogueRule& rule)
{
    const std::string soname = model::soname_of(rule, version_);
    if (has(soname))
        return;
    for (const Candidate& candidate : candidates(soname))
        if (const DriverFile* file = take(candidate.path, soname)) {
            add_directory(std::string(
                base::directory_of(std::string_view(file->path).substr(root_.prefix().size()))));
            return;
        }
}

void LibrarySearch::look_up_neutral(const CatalogueRule& rule)
{
    const std::string soname(rule.name);
    auto places = candidates(soname);
    if (!directories.empty())
        places.push_back({join(directories.front(), soname), false});
    for (const Candidate& place : places)
        if (has(soname) || take(place.path, soname) != nullptr)
            return;
}

void LibrarySearch::add_directory(std::string directory)
{
    const auto same = std::find(directories.begin(), directories.end(), directory);
    if (same == directories.end() && directories.size() < most_directories)
        directories.push_back(std::move(directory));
}

/// Finds all other files of this driver beside its libraries, also unknown ones: each release
/// of the driver has files that a list of names lacks.
void LibrarySearch::scan_directories()
{
    for (; scanned_ < directories.size(); ++scanned_)
        if (const auto directory = root_.open_directory(directories[scanned_]))
            scan(*directory);
}

void LibrarySearch::scan(const host::DriverRoot::Directory& directory)
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
        consider(root_.open_in(directory, name), base::format("{}/{}", directory.real_path, name),
                 "");
}

void LibrarySearch::scan_module_directories()
{
    for (const std::string& place :
         module_directories(wanted_.catalogue, directories, wanted_.compat32))
        if (const auto directory = root_.open_directory(place))
            scan(*directory);
}

bool LibrarySearch::is_part_of_driver(std::string_view name) const
{
    const std::string_view version = version_suffix(name);
    if (name.ends_with(".so"))
        return std::ranges::find(unversioned_, name, &CatalogueRule::name) != unversioned_.end();
    if (version.empty() || version == version_)
        return !version.empty();
    return model::find_rule(unversioned_, FileKind::library, name) != nullptr;
}

const DriverFile* LibrarySearch::take(const std::string& path, const std::string& soname)
{
    return consider(root_.open_file(path), path, soname);
}

/// The file at `path` if it is part of the driver; otherwise null, and the reason goes to
/// `findings`. If `soname` is not "", it must be a library with that soname.
const DriverFile* LibrarySearch::consider(const Result<host::DriverRoot::File>& opened,
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
    if (auto reason = objection_to_place(path, opened->real_path); !reason.empty()) {
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
    const bool is_foreign = facts && !elf::is_for(*facts, *machine_);
    is_foreign_ |= is_foreign;
    if (is_foreign && wanted_.compat32)
        return nullptr; // beside those for this machine, as in /usr/lib
    if (auto reason = objection(facts, soname); !reason.empty()) {
        skip(name, path, std::move(reason));
        return nullptr;
    }
    if (has(facts->soname) || has(std::string(base::name_of(opened->real_path)))) {
        skip(name, path, "another file of the same name was found first");
        return nullptr;
    }
    if (auto reason = add_library(*opened, *facts); !reason.empty()) {
        skip(name, path, std::move(reason));
        return nullptr;
    }
    return &files.back();
}

bool LibrarySearch::lacks_version(const host::DriverRoot::File& file, const std::string& name) const
{
    const CatalogueRule* rule = model::find_rule(wanted_.catalogue, FileKind::library, name);
    return !is_driver_version(version_suffix(base::name_of(file.real_path)))
           && (rule == nullptr || (!rule->unversioned && !rule->neutral));
}

/// The version of the file, and the one that it should have; none if they are the same.
std::optional<std::string> LibrarySearch::other_version_of(const host::DriverRoot::File& file) const
{
    const std::string_view version = version_suffix(base::name_of(file.real_path));
    const auto& wanted = version_.empty() ? wanted_.version : version_;
    if (!is_driver_version(version) || !wanted || version == *wanted)
        return std::nullopt;
    return base::format("is version {}{} {}", version,
                        wanted_.is_of_module ? "; the kernel module is version" : ", not", *wanted);
}

std::string LibrarySearch::objection(const Result<elf::Facts>& facts,
                                     const std::string& soname) const
{
    if (!facts)
        return facts.error().message();
    if (!elf::is_for(*facts, *machine_))
        return base::format("is for {}", elf::machine_name(facts->machine));
    if (facts->soname.empty())
        return "has no soname";
    if (!soname.empty() && facts->soname != soname)
        return base::format("has the soname {}", facts->soname);
    return "";
}

/// Programs load such a library by its file's name, or by the one that the catalogue has. ""
/// if it should have a soname.
std::string LibrarySearch::name_without_soname(std::string_view path) const
{
    const std::string_view name = base::name_of(path);
    const CatalogueRule* const rule = model::find_rule(wanted_.catalogue, FileKind::library, name);
    if (rule == nullptr)
        return std::string(name);
    return rule->name.ends_with(".so") ? std::string(rule->name) : "";
}

std::string LibrarySearch::add_library(const host::DriverRoot::File& opened,
                                       const elf::Facts& facts)
{
    const std::string& soname = facts.soname;
    DriverFile file = describe(root_, opened, FileKind::library);
    file.soname = soname;
    file.compat32 = wanted_.compat32;
    file.capability = model::Capability::compute;
    file.reason = "of this driver's version, though the catalogue does not name it";
    file.registrations = {{model::Manner::loader}};
    if (const CatalogueRule* rule =
            model::find_rule(wanted_.catalogue, FileKind::library, soname)) {
        file.classify(*rule);
        if (rule->entry)
            file.entry_names.push_back(soname);
        if (!rule->loads.empty())
            for (const std::string_view loaded : base::split(rule->loads, ','))
                file.needed.push_back(model::with_version(loaded, version_));
        if (!rule->links.empty())
            for (const std::string_view link : base::split(rule->links, ','))
                file.links.push_back(model::with_version(link, version_));
    }
    file.needed.insert(file.needed.end(), facts.needed.begin(), facts.needed.end());
    if (soname != file.name)
        file.links.push_back(soname);
    if (file.precedence == model::Precedence::image) {
        auto versions = search::read_version_needs(opened.fd.get());
        if (!versions)
            return versions.error().message();
        file.versions = *std::move(versions);
    }
    names_.insert({soname, file.name});
    files.push_back(std::move(file));
    return "";
}

/// Adds the names that a linker looks for, if the driver has them: some programs compile and
/// link at run time.
void LibrarySearch::add_links()
{
    for (DriverFile& file : files) {
        if (file.kind != FileKind::library)
            continue;
        const std::string development = file.soname.substr(0, file.soname.find(".so") + 3);
        if (has(development) || !development_names_.contains(development))
            continue;
        for (const std::string& directory : directories) {
            const auto status = root_.look(join(directory, development));
            if (status && model::FileId::of(*status) == file.id) {
                file.links.push_back(development);
                names_.insert(development);
                break;
            }
        }
    }
}

/// Keeps what the driver itself has of what its libraries need; of a neutral one, all but the C
/// library.
void LibrarySearch::add_needs()
{
    for (DriverFile& file : files) {
        const bool is_neutral = file.precedence == model::Precedence::image;
        auto& needed = file.needed;
        std::erase_if(needed, [&](const std::string& soname) {
            const bool is_kept =
                is_neutral ? !search::is_of_c_library(soname)
                           : std::ranges::find(files, soname, &DriverFile::soname) != files.end();
            return soname == file.soname || !is_kept;
        });
        std::ranges::sort(needed);
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    }
}

void LibrarySearch::report_missing()
{
    for (const CatalogueRule& rule : wanted_.catalogue) {
        if (rule.kind != FileKind::library)
            continue;
        const std::string soname = model::soname_of(rule, version_);
        if (has(soname)
            || std::ranges::find(findings, soname, &model::Finding::object) != findings.end()
            || report_dangling(rule, soname))
            continue;
        if (rule.entry)
            skip(soname, directories.front(), "not installed", FindingCode::not_installed);
    }
}

/// A removed driver may have left its names.
bool LibrarySearch::report_dangling(const CatalogueRule& rule, const std::string& soname)
{
    std::vector<Candidate> places = candidates(soname);
    if (rule.entry)
        for (const std::string& directory : directories)
            places.push_back({join(directory, soname), false});
    for (const Candidate& place : places)
        if (auto reason = loss(place); !reason.empty()) {
            skip(soname, place.path, std::move(reason));
            return true;
        }
    return false;
}

/// How a name lost its file; "" if it did not, or there is no such name.
std::string LibrarySearch::loss(const Candidate& place) const
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

void LibrarySearch::skip(std::string name, const std::string& source, std::string reason,
                         FindingCode code)
{
    findings.push_back({code, std::move(name), std::move(reason), root_.prefix() + source});
}

} // namespace gpucontainer::drivers::nvidia
