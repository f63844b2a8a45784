// SPDX-License-Identifier: MIT
#include "linking/session.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "linking/lacks.hpp"
#include "rootfs/real_path.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::linking {
namespace {

constexpr std::size_t most_objects = 1024;
constexpr std::size_t most_lacks = 256;
constexpr std::size_t most_unfit = 4;
constexpr std::size_t largest_preload_file = std::size_t{16} << 10U;
constexpr std::size_t longest_variable = std::size_t{128} << 10U; // as the kernel takes one

std::string value_of(const Session::Environment& environment, const char* name)
{
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second.substr(0, longest_variable);
}

/// Whether it is a name of musl's own library, which its loader is.
bool is_of_musl(std::string_view name)
{
    constexpr std::array<std::string_view, 7> own = {"c",  "pthread", "rt",  "m",
                                                     "dl", "util",    "xnet"};
    if (!name.starts_with("lib"))
        return false;
    name.remove_prefix(3);
    return std::ranges::find(own, name.substr(0, name.find('.'))) != own.end()
           && name.find('.') != std::string_view::npos;
}

bool is_system_path(const Loader& loader, std::string_view path)
{
    return std::ranges::find(loader.directories, base::directory_of(path))
           != loader.directories.end();
}

} // namespace

Session::Session(Files& files, const Loader& loader, const Environment& environment)
    : files_(files), loader_(loader), preloaded_(value_of(environment, "LD_PRELOAD")),
      library_path_(value_of(environment, "LD_LIBRARY_PATH"))
{
    linked_.rules = loader.rules;
    linked_.interpreter = loader.path;
    linked_.is_complete = loader.rules != Rules::unknown;
}

void Session::start(const std::string& path, Way way)
{
    const std::string directory(base::directory_of(path));
    const bool is_musl = loader_.rules == Rules::musl;
    const auto parts = parts_of(library_path_, is_musl ? ":\n" : ":;");
    // To musl, the words of an RPATH mean nothing here.
    variable_ = is_musl ? existing_directories(files_, {}, parts, "")
                        : existing_directories(files_, loader_, parts, directory);
    defaults_ = existing_directories(files_, loader_, loader_.directories, "");
    add(path, path, way, 0);
    // What needs the loader finds it there, by any of its names.
    const File* const file = files_.at(loader_.path);
    if (file == nullptr)
        return;
    const auto home = files_.directory(std::string(base::directory_of(loader_.path)));
    const std::string name(base::name_of(loader_.path));
    const std::size_t loader =
        add(home ? (*home == "/" ? "" : *home) + "/" + name : loader_.path, name, Way::loader, 0);
    by_name_.emplace(loader_.path, loader);
    if (!file->facts.soname.empty())
        by_name_.emplace(file->facts.soname, loader);
}

std::size_t Session::add(const std::string& path, const std::string& name, Way way, std::size_t by)
{
    const std::size_t index = linked_.objects.size();
    const File* const file = files_.at(path);
    linked_.objects.push_back({path, name, way, by});
    object_files_.push_back(file);
    paths_.emplace_back();
    by_name_.emplace(name, index);
    if (file == nullptr || file->state != File::State::good)
        linked_.is_complete = false;
    else if (loader_.rules == Rules::glibc && !file->facts.soname.empty() && index != 0)
        by_name_.emplace(file->facts.soname, index);
    return index;
}

std::optional<std::size_t> Session::loaded_as(const std::string& name) const
{
    constexpr std::size_t of_loader = 1;
    if (loader_.rules == Rules::musl && is_of_musl(name) && linked_.objects.size() > of_loader)
        return of_loader;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

void Session::preload_names(std::string_view names, std::string_view separators)
{
    for (const std::string& name : parts_of(names, separators)) {
        if (loaded_as(name) || linked_.objects.size() >= most_objects)
            continue;
        // One that cannot be loaded is left out: the program starts all the same.
        const Result found = find(name, 0);
        const File* const file = found.path ? files_.at(*found.path) : nullptr;
        if (file != nullptr && file->state == File::State::good)
            add(*found.path, name, Way::preload, 0);
    }
}

void Session::preload()
{
    const bool is_musl = loader_.rules == Rules::musl;
    preload_names(preloaded_, is_musl ? ": \t\n" : " :");
    if (loader_.rules != Rules::glibc || !loader_.cache_path.starts_with("/etc/"))
        return;
    const auto text = files_.view().read("/etc/ld.so.preload", largest_preload_file);
    if (!text)
        return;
    for (const std::string& line : parts_of(*text, "\n"))
        preload_names(std::string_view(line).substr(0, line.find('#')), " :\t");
}

void Session::load_needs()
{
    for (std::size_t i = 0; i < linked_.objects.size(); ++i) {
        const File* const file = object_files_[i];
        if (file == nullptr || linked_.objects[i].way == Way::loader)
            continue;
        for (const std::string& name : file->facts.needed) {
            const auto needed = files_.is_exhausted() ? std::nullopt : need(name, i);
            if (!needed)
                linked_.objects[i].lacks_library = true;
            else if (auto& needs = linked_.objects[i].needs;
                     std::ranges::find(needs, *needed) == needs.end())
                needs.push_back(*needed);
        }
    }
    linked_.is_complete = linked_.is_complete && !files_.is_exhausted();
}

void Session::lack(Lack lack, std::size_t by)
{
    lack.needed_by = {linked_.objects[by].path};
    lack_of_.emplace(lack.name, linked_.lacks.size());
    lack.name = as_told(lack.name);
    linked_.lacks.push_back(std::move(lack));
}

bool Session::is_lacking(const std::string& name, std::size_t by)
{
    const auto lacking = lack_of_.find(name);
    if (lacking == lack_of_.end())
        return false;
    auto& needers = linked_.lacks[lacking->second].needed_by;
    if (needers.size() < most_needers)
        needers.push_back(linked_.objects[by].path);
    return true;
}

void Session::lack_library(const std::string& name, const Result& found, std::size_t by)
{
    if (files_.is_exhausted()) {
        linked_.is_complete = false;
        return;
    }
    const bool is_unfit = !found.unfit.empty();
    lack({is_unfit ? Lack::Kind::machine : Lack::Kind::library,
          name,
          {},
          is_unfit ? found.unfit.front() : ""},
         by);
}

std::optional<std::size_t> Session::need(const std::string& name, std::size_t by)
{
    if (const auto known = loaded_as(name))
        return known;
    if (is_lacking(name, by))
        return std::nullopt;
    if (linked_.objects.size() >= most_objects)
        files_.give_up();
    if (files_.is_exhausted() || linked_.lacks.size() >= most_lacks) {
        linked_.is_complete = false;
        return std::nullopt;
    }
    const Result found = find(name, by);
    if (!found.path) {
        lack_library(name, found, by);
        return std::nullopt;
    }
    const File* const file = files_.at(*found.path);
    using State = File::State;
    if (file->state == State::empty || file->state == State::damaged) {
        lack({Lack::Kind::damaged,
              name,
              {},
              *found.path,
              file->state == State::empty ? "an empty file" : file->problem},
             by);
        return std::nullopt;
    }
    const auto same = std::ranges::find(object_files_, file);
    if (same != object_files_.end()) {
        const auto index = static_cast<std::size_t>(same - object_files_.begin());
        by_name_.emplace(name, index);
        return index;
    }
    return add(*found.path, name, found.way, by);
}

const Session::Paths& Session::paths_of(std::size_t object)
{
    std::optional<Paths>& known = paths_[object];
    if (known)
        return *known;
    known.emplace();
    const File* const file = object_files_[object];
    if (file == nullptr)
        return *known;
    const elf::Facts& facts = file->facts;
    const std::string origin(base::directory_of(linked_.objects[object].path));
    known->rpath = existing_directories(files_, loader_, facts.rpath, origin);
    known->runpath = existing_directories(files_, loader_, facts.runpath, origin);
    known->has_runpath = !facts.runpath.empty();
    return *known;
}

bool Session::is_fit(const elf::Facts& facts) const
{
    return facts.elf_class == loader_.facts.elf_class
           && facts.byte_order == loader_.facts.byte_order
           && facts.machine == loader_.facts.machine;
}

/// True ends a search: the loader takes the file, or gives up because of it. It passes over files
/// for other machines.
bool Session::try_file(const std::string& path, Way way, Result& result)
{
    const File* const file = files_.may_try(path) ? files_.at(path) : nullptr;
    if (file == nullptr)
        return false;
    if (file->state == File::State::good && !is_fit(file->facts)) {
        if (result.unfit.size() < most_unfit)
            result.unfit.push_back(path);
        return loader_.rules == Rules::musl; // which takes the first of the name
    }
    result.path = path;
    result.way = way;
    return true;
}

bool Session::try_directory(const std::string& directory, const std::string& name, Way way,
                            Result& result)
{
    const std::string above = directory == "/" ? "" : directory;
    for (const std::string& level : loader_.levels)
        if (const auto deeper = files_.directory(base::format("{}/{}", above, level)))
            if (try_file(base::format("{}/{}", *deeper, name), way, result))
                return true;
    return try_file(base::format("{}/{}", above, name), way, result);
}

bool Session::try_directories(const std::vector<std::string>& directories, const std::string& name,
                              Way way, Result& result)
{
    return !files_.is_exhausted()
           && std::ranges::any_of(directories, [&](const std::string& directory) {
                  return try_directory(directory, name, way, result);
              });
}

/// Its place among the levels of the processor, the best first; behind all if it is of none.
std::size_t Session::place_of(const elf::CacheEntry& entry) const
{
    if (entry.hwcaps_name.empty()) // other bits are of processors that glibc 2.37 forgot
        return entry.hwcap == 0 ? loader_.levels.size() : loader_.levels.size() + 1;
    const auto level = std::ranges::find_if(loader_.levels, [&](const std::string& one) {
        return base::name_of(one) == entry.hwcaps_name;
    });
    return level == loader_.levels.end() ? loader_.levels.size() + 1
                                         : static_cast<std::size_t>(level - loader_.levels.begin());
}

const elf::CacheEntry* Session::best_of(const std::vector<elf::CacheEntry>& entries) const
{
    const elf::CacheEntry* best = nullptr;
    for (const elf::CacheEntry& entry : entries)
        if (place_of(entry) <= loader_.levels.size()
            && (best == nullptr || place_of(entry) < place_of(*best)))
            best = &entry;
    return best;
}

/// Takes one entry: that of the best level of the processor, or the first.
bool Session::try_cache(const std::string& name, bool no_default_directories, Result& result)
{
    if (loader_.cache == nullptr)
        return false;
    const auto entries = loader_.machine != nullptr
                             ? loader_.cache->lookup(name, loader_.machine->cache_flags)
                             : loader_.cache->lookup_all(name);
    const elf::CacheEntry* const best = best_of(entries);
    if (best == nullptr || (no_default_directories && is_system_path(loader_, best->value)))
        return false;
    const std::string path(best->value);
    const auto directory = files_.directory(std::string(base::directory_of(path)));
    if (!directory)
        return false;
    const std::string above = *directory == "/" ? "" : *directory;
    return try_file(above + "/" + std::string(base::name_of(path)), Way::cache, result);
}

Session::Result Session::find_for_glibc(const std::string& name, std::size_t by)
{
    Result result;
    if (!paths_of(by).has_runpath)
        for (std::size_t at = by;; at = linked_.objects[at].loaded_by) {
            if (try_directories(paths_of(at).rpath, name, Way::rpath, result))
                return result;
            if (at == 0)
                break;
        }
    const File* const file = object_files_[by];
    const bool no_defaults = file != nullptr && file->facts.no_default_directories;
    if (try_directories(variable_, name, Way::variable, result)
        || try_directories(paths_of(by).runpath, name, Way::runpath, result)
        || try_cache(name, no_defaults, result))
        return result;
    if (!no_defaults)
        try_directories(defaults_, name, Way::default_directory, result);
    return result;
}

/// RPATH and RUNPATH are the same there, and those of all files count that led to this one.
Session::Result Session::find_for_musl(const std::string& name, std::size_t by)
{
    Result result;
    if (try_directories(variable_, name, Way::variable, result))
        return result;
    for (std::size_t at = by;; at = linked_.objects[at].loaded_by) {
        const Paths& paths = paths_of(at);
        if (try_directories(paths.has_runpath ? paths.runpath : paths.rpath, name,
                            paths.has_runpath ? Way::runpath : Way::rpath, result))
            return result;
        if (at == 0)
            break;
    }
    try_directories(defaults_, name, Way::default_directory, result);
    return result;
}

Session::Result Session::find(const std::string& name, std::size_t by)
{
    if (name.find('/') == std::string::npos)
        return loader_.rules == Rules::musl ? find_for_musl(name, by) : find_for_glibc(name, by);
    Result result;
    const std::string origin(base::directory_of(linked_.objects[by].path));
    for (const std::string& path : expand(loader_, name, origin)) {
        const auto directory = files_.directory(std::string(base::directory_of(path)));
        if (!path.starts_with('/') || !directory)
            continue;
        const std::string above = *directory == "/" ? "" : *directory;
        if (try_file(above + "/" + std::string(base::name_of(path)), Way::path, result))
            break;
    }
    return result;
}

} // namespace gpucontainer::linking
