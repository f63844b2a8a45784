// SPDX-License-Identifier: MIT
#include "plan/image_libraries.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/facts.hpp"
#include "elf/machine.hpp"
#include "elf/symbol_versions.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>

namespace gpucontainer::plan {

using model::DriverFile;

bool is_ours(const rootfs::Entry& entry, const DriverFile& file) { return is_file(entry, file.id); }

bool is_file(const rootfs::Entry& entry, const model::FileId& id)
{
    return entry && entry.device == id.device && entry.inode == id.inode;
}

bool is_plain_path(std::string_view path)
{
    constexpr std::string_view others = ":;,=#'\"\\ $";
    return path.starts_with('/') && path.size() < 256 && std::ranges::none_of(path, [&](char c) {
               return base::is_control(c) || others.find(c) != std::string_view::npos;
           });
}

std::vector<std::string> searched_first(const Request& request)
{
    constexpr std::size_t most_searched = 64;
    std::vector<std::string> directories;
    const auto variable = request.container.find("LD_LIBRARY_PATH");
    if (variable == request.container.end())
        return directories;
    for (std::string_view path : base::split(variable->second, ':')) {
        while (path.size() > 1 && path.ends_with('/'))
            path.remove_suffix(1);
        if (is_plain_path(path) && directories.size() < most_searched)
            directories.emplace_back(path);
    }
    return directories;
}

std::string ImageLibraries::find(const DriverFile& file) const
{
    return first_of(places_of(file), file);
}

std::string ImageLibraries::find_anywhere(const DriverFile& file) const
{
    std::vector<std::string> paths = places_of(file);
    for (const std::string& directory : draft_.image.searched_directories)
        paths.push_back(base::format("{}/{}", directory, file.soname));
    if (file.registered(model::Manner::module_directory) != nullptr)
        paths.push_back(base::format("{}/{}", draft_.usual_directory(file), file.soname));
    return first_of(paths, file);
}

std::string ImageLibraries::first_of(const std::vector<std::string>& paths,
                                     const DriverFile& file) const
{
    for (const std::string& path : paths) {
        const rootfs::Entry entry = draft_.view.resolve(path);
        if (entry.type == rootfs::EntryType::regular && !draft_.is_in_tree(path)
            && !draft_.leads_into_tree(path) && !is_ours(entry, file)
            && is_library(path, file.compat32))
            return path;
    }
    return "";
}

/// Those that programs search, with the directories in them that loaders search first: for faster
/// processors, and of old releases.
const std::vector<std::string>& ImageLibraries::all_directories() const
{
    constexpr std::size_t most_of_processors = 64;
    if (directories_)
        return *directories_;
    directories_.emplace();
    for (const auto& directories :
         {rootfs::library_directories(*draft_.machine), draft_.image.searched_directories,
          searched_first(draft_.request)})
        for (const std::string& directory : directories) {
            const std::string for_processors = base::format("{}/glibc-hwcaps", directory);
            const auto names = draft_.view.list(for_processors, most_of_processors);
            if (names)
                for (const std::string& name : *names)
                    directories_->push_back(base::format("{}/{}", for_processors, name));
            directories_->push_back(base::format("{}/tls", directory));
            directories_->push_back(directory);
        }
    return *directories_;
}

std::vector<std::string> ImageLibraries::copies_of(const std::string& soname) const
{
    DriverFile wanted;
    wanted.soname = soname;
    std::vector<std::string> paths = places_of(wanted);
    for (const std::string& directory : all_directories())
        paths.push_back(base::format("{}/{}", directory, soname));
    std::vector<std::string> copies;
    for (const std::string& path : paths) {
        const std::string real = rootfs::real_path(draft_.view, path).value_or("");
        if (real.empty() || std::ranges::find(copies, real) != copies.end()
            || std::ranges::any_of(real, base::is_control) || draft_.is_in_tree(real)
            || draft_.view.look(real).type != rootfs::EntryType::regular
            || !is_library(real, false))
            continue;
        copies.push_back(real);
    }
    return copies;
}

std::vector<std::string> ImageLibraries::places_of(const DriverFile& file) const
{
    const std::string& soname = file.soname;
    constexpr std::size_t most_entries = 16; // for one soname, in a cache that anybody wrote
    std::vector<std::string> paths;
    const elf::Machine* const machine = elf::machine_for(*draft_.machine, file.compat32);
    if (machine == nullptr)
        return paths;
    if (draft_.image_cache)
        for (const elf::CacheEntry& entry :
             draft_.image_cache->lookup(soname, machine->cache_flags))
            if (paths.size() < most_entries
                && std::ranges::none_of(entry.value, base::is_control)) // it is shown in messages
                paths.emplace_back(entry.value);
    for (const std::string& directory : rootfs::library_directories(*machine))
        paths.push_back(base::format("{}/{}", directory, soname));
    return paths;
}

bool ImageLibraries::is_library(const std::string& path, bool compat32) const
{
    const auto file = draft_.view.open(path);
    if (!file)
        return false;
    const auto facts = elf::read_facts(file->get());
    const elf::Machine* const machine = elf::machine_for(*draft_.machine, compat32);
    return facts && machine != nullptr && elf::is_for(*facts, *machine);
}

Result<std::vector<std::string>> ImageLibraries::versions_of(const std::string& path) const
{
    if (const auto known = versions_.find(path); known != versions_.end())
        return known->second;
    GPUCTR_TRY(const base::OpenFile file, draft_.view.open(path));
    auto versions = elf::read_defined_versions(file.get());
    if (!versions)
        return std::move(versions).error().with_code(Errc::rootfs).context(path).with_object(path);
    return versions_.emplace(path, *std::move(versions)).first->second;
}

} // namespace gpucontainer::plan
