// SPDX-License-Identifier: MIT
#include "stranger_libraries.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/ld_cache_writer.hpp"
#include "elf/machine.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t longest_name = 255;
constexpr std::string_view name_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
constexpr std::array usual_directories = {"/lib",       "/lib32",     "/lib64",    "/usr/lib",
                                          "/usr/lib32", "/usr/lib64", "/usr/local"};
/// Where a machine has files of any user. A library that is recorded there makes no directory of
/// libraries of it.
constexpr std::array directories_of_users = {"/tmp",  "/var/tmp",  "/var/run/user", "/run/user",
                                             "/home", "/root",     "/dev",          "/proc",
                                             "/sys",  "/var/home", "/run/lock",     "/var/spool"};
constexpr std::array origins = {"$ORIGIN", "${ORIGIN}"};

bool is_name(std::string_view text)
{
    return !text.empty() && text.size() <= longest_name
           && text.find_first_not_of(name_characters) == std::string_view::npos;
}

/// The places from which a loader may take a library.
class LibraryPlaces {
public:
    explicit LibraryPlaces(const Recording& host)
    {
        for (const RecordedFile& file : host.files) {
            const bool is_library =
                is_soname(base::name_of(file.path)) && (file.is_link || !file.elf_class.empty());
            if (!is_library || is_of_users(file.path))
                continue;
            libraries_.insert(file.path);
            directories_.emplace(base::directory_of(file.path));
        }
    }

    bool has_file(const std::string& path) const
    {
        return is_plain_path(path) && is_soname(base::name_of(path))
               && (libraries_.contains(path) || is_below_any(path, usual_directories));
    }

    bool has_directory(const std::string& path) const
    {
        return is_plain_path(path)
               && (directories_.contains(path) || is_below_any(path, usual_directories));
    }

private:
    std::set<std::string, std::less<>> libraries_;
    std::set<std::string, std::less<>> directories_;
};

/// One directory of a RUNPATH as a path, for the loader's "$ORIGIN" that of the file. "": another
/// variable of the loader, or no absolute path.
std::string directory_of_runpath(std::string_view part, const std::string& file)
{
    for (const std::string_view origin : origins) {
        if (!part.starts_with(origin))
            continue;
        const std::string_view rest = part.substr(origin.size());
        if (!rest.empty() && !rest.starts_with('/'))
            return {};
        return target_of_link(file, base::format(".{}", rest)).value_or("");
    }
    const bool is_path = part.starts_with('/') && part.find('$') == std::string_view::npos;
    return is_path ? target_of_link("/", part).value_or("") : std::string();
}

/// The directories of a RUNPATH or RPATH from which libraries may come.
std::string restricted_runpath(const std::string& runpath, const std::string& file,
                               const LibraryPlaces& places)
{
    std::vector<std::string> kept;
    for (const std::string_view part : base::split(runpath, ':')) {
        std::string directory = directory_of_runpath(part, file);
        while (directory.size() > 1 && directory.ends_with('/'))
            directory.pop_back();
        if (places.has_directory(directory))
            kept.emplace_back(part);
    }
    return base::joined(kept, ":");
}

bool is_loader(std::string_view path)
{
    return path.empty() || path == elf::i386.loader || path == elf::armhf.loader
           || std::ranges::any_of(elf::machines,
                                  [&](const auto& machine) { return machine.loader == path; });
}

/// Reports what went of a column.
class Column {
public:
    Column(const RecordedFile& file, std::vector<std::string>& left_out)
        : file_(file), left_out_(left_out)
    {
    }
    template <typename Value>
    void set(Value& value, Value restricted, const char* name)
    {
        if (value == restricted)
            return;
        left_out_.push_back(
            base::format("{} of {} (it is no usual name or place of a library)", name, file_.path));
        value = std::move(restricted);
    }
    void keep_names(std::vector<std::string>& names, bool (*is_kept)(std::string_view),
                    const char* name)
    {
        std::vector<std::string> kept;
        std::ranges::copy_if(names, std::back_inserter(kept), is_kept);
        set(names, std::move(kept), name);
    }

private:
    const RecordedFile& file_;
    std::vector<std::string>& left_out_;
};

void restrict_columns(RecordedFile& file, const LibraryPlaces& places,
                      std::vector<std::string>& left_out)
{
    Column column(file, left_out);
    if (!is_soname(file.soname))
        column.set(file.soname, {}, "soname");
    if (!is_loader(file.interpreter))
        column.set(file.interpreter, {}, "interpreter");
    column.keep_names(file.needed, is_soname, "needed library");
    column.keep_names(file.versions, is_name, "needed version");
    column.keep_names(file.definitions, is_name, "version");
    column.set(file.runpath, restricted_runpath(file.runpath, file.path, places), "runpath");
    column.set(file.rpath, restricted_runpath(file.rpath, file.path, places), "rpath");
}

/// Also leaves out what is damaged: the loader would read it.
void restrict_cache(Recording& host, const LibraryPlaces& places,
                    std::vector<std::string>& left_out)
{
    if (host.loader_cache.empty())
        return;
    std::size_t refused = 0;
    const auto is_refused = [&](const elf::CacheEntry& entry) {
        const bool is_kept = is_soname(entry.key) && places.has_file(std::string(entry.value));
        refused += is_kept ? 0 : 1;
        return !is_kept;
    };
    const auto cache = elf::LdCache::parse(host.loader_cache);
    std::string restricted;
    if (cache)
        if (auto bytes = elf::without(*cache, is_refused))
            restricted = *std::move(bytes);
    if (restricted.empty())
        left_out.emplace_back("/etc/ld.so.cache (it is damaged)");
    else if (refused > 0)
        left_out.push_back(base::format("{} entries of /etc/ld.so.cache (they lead to no library "
                                        "of the report, nor to a usual directory)",
                                        refused));
    host.loader_cache = std::move(restricted);
}

} // namespace

bool is_of_users(std::string_view path) { return is_below_any(path, directories_of_users); }

bool is_soname(std::string_view name)
{
    constexpr std::string_view ending = ".so";
    if (!is_name(name))
        return false;
    const auto end = name.rfind(ending);
    if (end == std::string_view::npos || end == 0)
        return false;
    // "libx.so", "libx.so.1.2", and not the name of data, "libx.so.json"
    const std::string_view version = name.substr(end + ending.size());
    return version.empty()
           || (version.size() > 1 && version.front() == '.' && version[1] >= '0'
               && version[1] <= '9');
}

void restrict_libraries(Recording& host, std::vector<std::string>& left_out)
{
    const LibraryPlaces places(host);
    for (RecordedFile& file : host.files)
        restrict_columns(file, places, left_out);
    restrict_cache(host, places, left_out);
}

} // namespace gpucontainer::simhost
