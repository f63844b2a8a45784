// SPDX-License-Identifier: MIT
#include "stranger.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "machine.hpp"
#include "rootfs/real_path.hpp"
#include "stranger_libraries.hpp"
#include "stranger_nodes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

constexpr mode_t without_setuid = 0777;
constexpr mode_t not_executable = 0666; // data could begin with "#!"
constexpr std::size_t longest_first_line = 80;

constexpr std::array program_directories = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                            "/usr/bin",        "/sbin",          "/bin"};
constexpr std::array interpreters = {"sh", "bash", "dash", "python3", "perl"};
/// Of data that programs of drivers read, in directories of drivers.
constexpr std::array data_endings = {".json", ".yaml", ".csv", ".icd", ".map", ".version"};
constexpr std::array names_of_drivers = {"vulkan", "glvnd", "egl", "OpenCL", "rocm"};
constexpr std::array data_directories = {
    "/etc/ld.so.conf.d", "/etc/OpenCL/vendors", "/etc/cdi",       "/var/run/cdi",
    "/run/cdi",          "/etc/gpucontainer",   "/opt/rocm/.info"};
/// What lies there is of programs that act on it: journals of this project, hooks of engines.
constexpr std::array state_directories = {"/var/lib", "/var/spool"};
constexpr std::array acting_directories = {"containers", "hooks.d"};
constexpr std::array data_files = {"/etc/ld.so.conf", "/etc/nv_tegra_release"};
constexpr std::array proc_places = {"/proc/driver",     "/proc/devices",  "/proc/cmdline",
                                    "/proc/version",    "/proc/modules",  "/proc/device-tree",
                                    "/proc/sys/kernel", "/proc/sys/user", "/proc/sys/vm"};

bool is_in_program_directory(std::string_view path)
{
    const auto parts = base::split(base::directory_of(path), '/');
    return std::ranges::any_of(parts, [](std::string_view part) {
        return part == "bin" || part == "sbin" || part == "libexec";
    });
}

/// Whether the machine has a program of this name, which another one could hide.
bool is_program_of_machine(std::string_view name)
{
    return !is_gpu_name(name)
           && std::ranges::any_of(program_directories, [&](const char* directory) {
                  return Machine::has(base::format("{}/{}", directory, name));
              });
}

/// The first line of a script, if nothing but an interpreter is in it: "#!/bin/sh". "": no.
std::string harmless_line(std::string_view text)
{
    const std::string_view line = text.substr(0, std::min(text.find('\n'), longest_first_line));
    for (const char* name : interpreters)
        for (const char* start : {"#!/bin/", "#!/usr/bin/", "#!/usr/bin/env "})
            for (const char* space : {"", " "}) {
                std::string allowed = base::format("#!{}{}{}", space, start + 2, name);
                if (line == allowed)
                    return allowed + "\n";
            }
    return "";
}

bool has_component(std::string_view path, const auto& names)
{
    const auto parts = base::split(path, '/');
    return std::ranges::any_of(names, [&](const char* name) {
        return std::ranges::find(parts, std::string_view(name)) != parts.end();
    });
}

bool is_of_driver(std::string_view path)
{
    return (is_gpu_path(path) || has_component(base::directory_of(path), names_of_drivers))
           && !is_below_any(path, state_directories) && !has_component(path, acting_directories);
}

bool is_data(std::string_view path)
{
    return is_below_any(path, data_directories)
           || std::ranges::find(data_files, path) != data_files.end()
           || (is_of_driver(path) && !is_in_program_directory(path)
               && (std::ranges::any_of(data_endings,
                                       [&](const char* ending) { return path.ends_with(ending); })
                   || (is_gpu_path(path) && path.ends_with(".conf"))));
}

/// Removes what lies outside of the few names for which it returns false, and says so.
template <typename List, typename Refuse>
void remove(List& list, std::vector<std::string>& left_out, Refuse&& is_refused)
{
    std::erase_if(list, [&](const auto& one) {
        const char* const reason = is_refused(one);
        if (reason != nullptr)
            left_out.push_back(base::format("{} ({})", one.path, reason));
        return reason != nullptr;
    });
}

bool is_directory_or_nothing(const std::string& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode);
}

/// Where the names of a recording lead, among those of the machine.
class Names {
public:
    explicit Names(const Recording& host)
    {
        for (const RecordedFile& file : host.files) {
            const std::string path = machine_.place(file.path);
            files_[path] = &file;
            std::string above(base::directory_of(path));
            while (above.size() > 1 && directories_.insert(above).second)
                above = base::directory_of(above);
            if (!file.is_link && is_data(file.path) && host.contents.contains(file.path))
                data_.insert(path);
        }
        // A directory of a driver may have another name, which others must not lead to either.
        for (const RecordedFile& file : host.files)
            if (file.is_link && is_gpu_path(file.path))
                if (const auto place = real(file.path); place && has_data_below(*place))
                    data_.insert(machine_.place(file.path));
    }

    /// Whether data, which is anything, would have a name by which something may be executed: as
    /// "x.sh" in /etc/profile.d.
    bool gives_data_another_name(const RecordedFile& link)
    {
        if (base::directory_of(link.path).size() <= 1)
            return false; // no such link is made
        const auto place = real(link.path);
        if (!place)
            return is_long_;
        return (data_.contains(*place) && !is_data(link.path))
               || (has_data_below(*place) && !is_gpu_path(link.path));
    }

private:
    std::optional<std::string> real(const std::string& path)
    {
        std::size_t names = 0;
        std::size_t size = 0;
        const auto count = [&](std::string_view text) {
            names += static_cast<std::size_t>(std::ranges::count(text, '/')) + 1;
            size += text.size();
        };
        count(path);
        auto found = rootfs::follow_links(
            path, rootfs::LastLink::followed, [&](const std::string& name) { return type(name); },
            [&](const std::string& name) {
                const RecordedFile* const file = recorded(name);
                std::string target = file != nullptr ? file->target : target_on_machine(name);
                count(target);
                return target;
            });
        // The kernel follows longer ways.
        is_long_ = names > rootfs::most_components || size > rootfs::longest_path;
        return found;
    }

    /// Null if the machine's own is used.
    const RecordedFile* recorded(const std::string& path) const
    {
        const auto found = files_.find(path);
        return found == files_.end() || (Machine::has(path) && !is_gpu_path(path)) ? nullptr
                                                                                   : found->second;
    }

    rootfs::EntryType type(const std::string& path) const
    {
        using rootfs::EntryType;
        if (const RecordedFile* const file = recorded(path))
            return file->is_link ? EntryType::link : EntryType::regular;
        struct stat status = {};
        if (::lstat(path.c_str(), &status) != 0)
            return directories_.contains(path) ? EntryType::directory : EntryType::none;
        return S_ISLNK(status.st_mode)   ? EntryType::link
               : S_ISDIR(status.st_mode) ? EntryType::directory
                                         : EntryType::regular;
    }

    static std::string target_on_machine(const std::string& path)
    {
        std::string target(rootfs::longest_path, '\0');
        const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
        target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return target;
    }

    bool has_data_below(const std::string& directory) const
    {
        const std::string start = directory == "/" ? "/" : directory + "/";
        const auto first = data_.lower_bound(start);
        return first != data_.end() && first->starts_with(start);
    }

    Machine machine_;
    std::map<std::string, const RecordedFile*, std::less<>> files_;
    std::set<std::string, std::less<>> directories_;
    std::set<std::string, std::less<>> data_;
    bool is_long_ = false; ///< The last way.
};

/// Links by which data has a name under which it may be code.
std::set<std::string, std::less<>> renaming_links(const Recording& host)
{
    Names names(host);
    std::set<std::string, std::less<>> renaming;
    for (const RecordedFile& file : host.files)
        if (file.is_link && names.gives_data_another_name(file))
            renaming.insert(file.path);
    return renaming;
}

/// Whether a loader or the kernel would take it for a library or a program.
bool is_executable(std::string_view content)
{
    return content.starts_with("\177ELF") || content.starts_with("#!");
}

/// Neither modes nor content that could do something.
void disarm(Recording& host, std::vector<std::string>& left_out)
{
    for (RecordedFile& file : host.files)
        file.mode &= is_data(file.path) ? not_executable : without_setuid;
    for (auto& [path, content] : host.contents) {
        const bool is_code = !is_data(path) || is_executable(content);
        if (!is_code)
            continue;
        content = is_data(path) ? std::string() : harmless_line(content);
        if (content.empty())
            left_out.push_back(path + " (its content may be code)");
    }
}

using Paths = std::set<std::string, std::less<>>;

const char* why_link_is_refused(const RecordedFile& link, const Paths& recorded)
{
    const auto target = target_of_link(link.path, link.target);
    if (!target)
        return "it leads above the root directory";
    if (recorded.contains(*target))
        return nullptr;
    if (is_of_users(*target)) // who may make it there later
        return "it leads to what any user may make";
    return is_directory_or_nothing(*target) ? nullptr : "it leads to a file of this machine";
}

void restrict_files(Recording& host, std::vector<std::string>& left_out)
{
    Paths recorded;
    for (const RecordedFile& file : host.files)
        recorded.insert(file.path);
    const auto renaming = renaming_links(host);
    remove(host.files, left_out, [&](const RecordedFile& file) -> const char* {
        if (file.is_link && renaming.contains(file.path))
            return "it leads to data, which may be code under that name";
        const std::string_view name = base::name_of(file.path);
        if (is_in_program_directory(file.path) && is_program_of_machine(name))
            return "this machine has a program of that name";
        return file.is_link ? why_link_is_refused(file, recorded) : nullptr;
    });
    disarm(host, left_out);
}

void restrict_kernel(Recording& host, std::vector<std::string>& left_out)
{
    remove(host.proc, left_out, [](const TextFile& file) -> const char* {
        return is_below_any(file.path, proc_places) ? nullptr : "it is of no driver";
    });
    remove(host.loader_conf, left_out, [](const TextFile& file) -> const char* {
        return file.path == "/etc/ld.so.conf" || base::is_below(file.path, "/etc/ld.so.conf.d")
                   ? nullptr
                   : "it is not the loader's";
    });
}

} // namespace

void restrict_stranger(Recording& host, std::vector<std::string>& left_out)
{
    restrict_files(host, left_out);
    restrict_nodes(host, left_out);
    restrict_kernel(host, left_out);
    restrict_libraries(host, left_out);
}

} // namespace gpucontainer::simhost
