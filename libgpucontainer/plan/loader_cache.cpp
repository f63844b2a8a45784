// SPDX-License-Identifier: MIT
#include "plan/loader_cache.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/ld_cache_writer.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace gpucontainer::plan {
namespace {

using model::DriverFile;
using rootfs::EntryType;

/// Whether it is a directory of libraries that are not used. `known` is what was asked before.
bool is_left_out(const Draft& draft, const std::string& directory,
                 std::map<std::string, bool, std::less<>>& known)
{
    constexpr std::size_t most_known = 256; // a cache that anybody wrote may name any number
    if (const auto found = known.find(directory); found != known.end())
        return found->second;
    if (known.size() == most_known)
        return false;
    const rootfs::Entry entry = draft.view.resolve(directory);
    const bool is_one = std::ranges::any_of(
        draft.compat.left_out, [&](const rootfs::Entry& one) { return one.same_file(entry); });
    return known.emplace(directory, is_one).first->second;
}

struct NamedLibrary {
    std::string name;
    std::string path;
    std::int32_t flags;
};

/// The host's loader does not search the image's own directories by itself if distributions of
/// the host's family have others. It finds there what the cache names.
void add_directories_of_image(const Draft& draft, const elf::LdCache* old,
                              std::vector<NamedLibrary>& names)
{
    constexpr std::size_t most_files = 20'000; // of a directory
    if (!draft.runtime.takes_c_library)
        return;
    std::vector<rootfs::Entry> seen = {
        draft.view.resolve(draft.request.glibc.host->c_library.home)};
    const std::int32_t flags = draft.machine->cache_flags;
    for (const std::string& directory : rootfs::library_directories(*draft.machine)) {
        const rootfs::Entry entry = draft.view.resolve(directory);
        const bool is_known = std::ranges::any_of(
            seen, [&](const rootfs::Entry& other) { return entry.same_file(other); });
        // Where others have /usr/lib64, this has libraries for 32-bit programs.
        const bool is_of_others =
            directory == "/usr/lib" && draft.image.library_directory != directory;
        if (entry.type != EntryType::directory || is_known || is_of_others)
            continue;
        seen.push_back(entry);
        const auto files = draft.view.list(directory, most_files);
        if (!files)
            continue;
        for (const std::string& name : *files)
            if (name.starts_with("lib") && name.find(".so") != std::string::npos
                && std::ranges::none_of(name, base::is_control)
                && (old == nullptr || old->lookup(name, flags).empty()))
                names.push_back({name, base::format("{}/{}", directory, name), flags});
    }
}

Result<elf::MergedCache> merge_cache(const Draft& draft, const elf::LdCache* old)
{
    std::vector<NamedLibrary> names;
    for (const std::string& name : draft.compat.libraries) // of equal names, the first counts
        names.push_back({name, base::format("{}/{}", draft.compat.directory, name),
                         draft.machine->cache_flags});
    for (const DriverFile* file : draft.files) {
        if (!Draft::is_cached(*file))
            continue;
        const elf::Machine* const machine = elf::machine_for(*draft.machine, file->compat32);
        if (machine == nullptr)
            continue;
        const std::int32_t flags = machine->cache_flags;
        names.push_back({file->name, draft.library_path(file->name, file), flags});
        for (const std::string& link : file->links)
            names.push_back({link, draft.library_path(link, file), flags});
    }
    add_directories_of_image(draft, old, names);
    std::vector<elf::NewCacheEntry> entries;
    entries.reserve(names.size());
    for (const auto& [name, path, flags] : names)
        entries.push_back({name, path, flags});
    const auto& left_out = draft.compat.left_out;
    // Entries for our tree are those of an earlier set-up, as in a container's layer.
    const std::string tree = draft.plan.tree_path + "/";
    const bool is_set_up = old != nullptr && old->strings().find(tree) != std::string_view::npos;
    if (left_out.empty() && !is_set_up)
        return elf::merge(old, entries);
    std::map<std::string, bool, std::less<>> known;
    return elf::merge(old, entries, [&](const elf::CacheEntry& entry) {
        if (entry.value.starts_with(tree))
            return true;
        return is_left_out(draft, std::string(base::directory_of(entry.value)), known);
    });
}

/// Directories of the tree for the loader's configuration, each in a line.
std::string tree_directories(const Draft& draft, bool of_distribution)
{
    std::vector<std::string> directories;
    for (const bool compat32 : {false, true})
        for (const DriverFile* file : draft.files)
            if (std::string directory = draft.tree_directory(file);
                file->kind == model::FileKind::library && file->compat32 == compat32
                && (file->precedence == model::Precedence::image) == of_distribution
                && std::ranges::find(directories, directory) == directories.end())
                directories.push_back(std::move(directory));
    std::string lines;
    for (const std::string& directory : directories)
        lines += directory + "\n";
    return lines;
}

/// A file with which a later ldconfig in the container keeps our libraries.
struct Configuration {
    std::string path;
    std::string content;
};

/// None is needed if it exists, our libraries are in the image's own directories, or ldconfig
/// cannot write the cache.
std::vector<Configuration> configuration_of(const Draft& draft)
{
    if (draft.plan.layout == Layout::merged
        || draft.names.are_overlaid(std::string(loader_cache_path)))
        return {};
    constexpr const char* configuration = "/etc/ld.so.conf";
    std::string first = tree_directories(draft, false);
    if (!draft.compat.directory.empty())
        first.insert(0, draft.compat.directory + "\n");
    const std::string last = tree_directories(draft, true);
    std::vector<Configuration> files = {{configuration, first + last}};
    // ldconfig reads these in the order of their names. A copy that the image gets later is found
    // before one of the distribution.
    if (draft.view.look(configuration))
        files = {{"/etc/ld.so.conf.d/00-gpuctr.conf", first},
                 {"/etc/ld.so.conf.d/zz-gpuctr.conf", last}};
    std::erase_if(files, [&](const Configuration& file) {
        return file.content.empty() || draft.view.look(file.path);
    });
    return files;
}

void add_configuration(Draft& draft)
{
    for (Configuration& file : configuration_of(draft)) {
        if (!draft.can_have(file.path)) {
            draft.skip(model::FindingCode::file_left_out, std::string(base::name_of(file.path)),
                       "the image has something else in its place", file.path);
            continue;
        }
        draft.add_name({GeneratedFile{std::move(file.content)}, std::move(file.path),
                        "has a later ldconfig find our libraries"});
    }
}

} // namespace

void recognise_loader_cache(Draft& draft)
{
    // Of what only some images get, it may have nothing.
    const auto known = std::ranges::find_if(draft.files, [](const DriverFile* file) {
        return Draft::is_cached(*file) && file->precedence != model::Precedence::image;
    });
    if (!draft.image_cache || known == draft.files.end())
        return;
    const DriverFile& file = **known;
    const elf::Machine* const machine = elf::machine_for(*draft.machine, file.compat32);
    if (machine == nullptr)
        return;
    const auto found = draft.image_cache->lookup(file.soname, machine->cache_flags);
    draft.cache_is_ours =
        std::any_of(found.begin(), found.end(), [&](const elf::CacheEntry& entry) {
            return entry.value == draft.library_path(file.soname, &file);
        });
}

std::vector<std::string> loader_cache_paths(const Draft& draft)
{
    std::vector<std::string> paths = {std::string(loader_cache_path)};
    for (Configuration& configuration : configuration_of(draft))
        paths.push_back(std::move(configuration.path));
    return paths;
}

Result<void> add_loader_cache(Draft& draft)
{
    const std::string path(loader_cache_path);
    GPUCTR_TRY(auto merged, merge_cache(draft, draft.image_cache ? &*draft.image_cache : nullptr),
               "loader cache");
    GPUCTR_CHECK(put_loader_cache(draft, std::move(merged)));
    if (!draft.names.are_overlaid(path))
        add_configuration(draft);
    return {};
}

Result<void> put_loader_cache(Draft& draft, elf::MergedCache merged)
{
    const std::string path(loader_cache_path);
    for (const auto& dropped : merged.dropped)
        draft.skip(
            model::FindingCode::file_left_out, dropped.key,
            base::format("the image's own copy for {} would be found instead", dropped.hwcaps_name),
            dropped.path);

    Plan& plan = draft.plan;
    plan.old_cache = draft.view.look(path);
    if (plan.old_cache)
        plan.found.emplace(path, plan.old_cache);
    Item item = {LoaderCache{std::move(merged.bytes)}, path, "the loader finds our files first"};
    if (!draft.names.are_overlaid(path) || draft.is_missing(path)) {
        draft.add_name(std::move(item));
        return {};
    }
    if (plan.old_cache.type != EntryType::regular)
        return Error(Errc::rootfs, path + " is in the way: not a regular file")
            .with_object(path)
            .with_hint("remove it from the image, or allow writing with --write always");
    draft.add(std::move(item));
    return {};
}

} // namespace gpucontainer::plan
