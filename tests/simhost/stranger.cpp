// SPDX-License-Identifier: MIT
#include "stranger.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/ld_cache_writer.hpp"
#include "machine.hpp"
#include "rootfs/real_path.hpp"

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

constexpr unsigned last_standard_major = 9;
constexpr mode_t without_setuid = 0777;
constexpr mode_t not_executable = 0666; // data could begin with "#!"
constexpr std::size_t longest_first_line = 80;

constexpr std::array program_directories = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                            "/usr/bin",        "/sbin",          "/bin"};
constexpr std::array interpreters = {"sh", "bash", "dash", "python3", "perl"};
/// Of data that programs of drivers read.
constexpr std::array data_endings = {".json", ".yaml", ".csv", ".icd", ".map", ".version"};
constexpr std::array data_directories = {
    "/etc/ld.so.conf.d", "/etc/OpenCL/vendors", "/etc/cdi",       "/var/run/cdi",
    "/run/cdi",          "/etc/gpucontainer",   "/opt/rocm/.info"};
constexpr std::array data_files = {"/etc/ld.so.conf", "/etc/nv_tegra_release"};
constexpr std::array proc_places = {"/proc/driver",     "/proc/devices",  "/proc/cmdline",
                                    "/proc/version",    "/proc/modules",  "/proc/device-tree",
                                    "/proc/sys/kernel", "/proc/sys/user", "/proc/sys/vm"};
constexpr std::array library_directories = {"/lib",     "/lib32",     "/lib64",
                                            "/usr/lib", "/usr/lib32", "/usr/lib64"};

bool is_below_any(std::string_view path, const auto& directories)
{
    return std::ranges::any_of(
        directories, [&](const char* directory) { return base::is_below(path, directory); });
}

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

bool is_data(std::string_view path)
{
    return is_below_any(path, data_directories)
           || std::ranges::find(data_files, path) != data_files.end()
           || (!is_in_program_directory(path)
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

/// Where a link leads, without regard to other links on the way.
std::string target_of(const RecordedFile& link)
{
    std::vector<std::string_view> parts;
    const std::string whole =
        link.target.starts_with('/')
            ? link.target
            : base::format("{}/{}", base::directory_of(link.path), link.target);
    for (const std::string_view part : base::split(whole, '/')) {
        if (part.empty() || part == ".")
            continue;
        if (part == ".." && !parts.empty())
            parts.pop_back();
        else if (part != "..")
            parts.push_back(part);
    }
    return "/" + base::joined(parts, "/");
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

/// Neither modes nor content that could do something.
void disarm(Recording& host, std::vector<std::string>& left_out)
{
    for (RecordedFile& file : host.files)
        file.mode &= is_data(file.path) ? not_executable : without_setuid;
    for (auto& [path, content] : host.contents) {
        if (is_data(path))
            continue;
        content = harmless_line(content);
        if (content.empty())
            left_out.push_back(path + " (its content may be code)");
    }
}

void restrict_files(Recording& host, std::vector<std::string>& left_out)
{
    std::set<std::string, std::less<>> recorded;
    for (const RecordedFile& file : host.files)
        recorded.insert(file.path);
    const auto renaming = renaming_links(host);
    remove(host.files, left_out, [&](const RecordedFile& file) -> const char* {
        if (file.is_link && renaming.contains(file.path))
            return "it leads to data, which may be code under that name";
        const std::string_view name = base::name_of(file.path);
        if (is_in_program_directory(file.path) && is_program_of_machine(name))
            return "this machine has a program of that name";
        if (file.is_link && !recorded.contains(target_of(file))
            && !is_directory_or_nothing(target_of(file)))
            return "it leads to a file of this machine";
        return nullptr;
    });
    disarm(host, left_out);
}

void restrict_nodes(Recording& host, std::vector<std::string>& left_out)
{
    remove(host.nodes, left_out, [](const DeviceNode& node) -> const char* {
        if (node.kind == NodeKind::block)
            return "it is a block device";
        if (node.kind == NodeKind::link)
            return node.target.starts_with('/') && !base::is_below(node.target, "/dev")
                       ? "it leads out of /dev"
                       : nullptr;
        return node.major <= last_standard_major
                       || Machine::has(base::format("/sys/dev/char/{}:{}", node.major, node.minor))
                   ? "it has the number of a device of this machine"
                   : nullptr;
    });
}

void restrict_kernel(Recording& host, std::vector<std::string>& left_out)
{
    remove(host.proc, left_out, [](const TextFile& file) -> const char* {
        return is_below_any(file.path, proc_places) ? nullptr : "it is of no driver";
    });
    for (SysDevice& device : host.devices)
        std::erase_if(device.links,
                      [](const NamedText& link) { return link.text.starts_with('/'); });
    remove(host.loader_conf, left_out, [](const TextFile& file) -> const char* {
        return file.path == "/etc/ld.so.conf" || base::is_below(file.path, "/etc/ld.so.conf.d")
                   ? nullptr
                   : "it is not the loader's";
    });
}

/// Also leaves out what is damaged: the loader would read it.
void restrict_cache(Recording& host, std::vector<std::string>& left_out)
{
    if (host.loader_cache.empty())
        return;
    std::set<std::string_view> recorded;
    for (const RecordedFile& file : host.files)
        recorded.insert(file.path);
    const auto is_refused = [&](const elf::CacheEntry& entry) {
        const std::string path(entry.value);
        return !is_plain_path(path)
               || (!recorded.contains(path) && !is_below_any(path, library_directories)
                   && Machine::has(path));
    };
    const auto cache = elf::LdCache::parse(host.loader_cache);
    std::string restricted;
    if (cache)
        if (auto bytes = elf::without(*cache, is_refused))
            restricted = *std::move(bytes);
    if (restricted.empty())
        left_out.emplace_back("/etc/ld.so.cache (it is damaged)");
    host.loader_cache = std::move(restricted);
}

} // namespace

void restrict_stranger(Recording& host, std::vector<std::string>& left_out)
{
    restrict_files(host, left_out);
    restrict_nodes(host, left_out);
    restrict_kernel(host, left_out);
    restrict_cache(host, left_out);
}

} // namespace gpucontainer::simhost
