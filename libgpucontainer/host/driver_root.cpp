// SPDX-License-Identifier: MIT
#include "host/driver_root.hpp"

#include "base/format.hpp"
#include "base/in_root.hpp"
#include "base/own_proc.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fnmatch.h>

namespace gpucontainer::host {
namespace {

constexpr std::size_t largest_configuration = 256U << 10U;
constexpr int deepest_include = 8;
constexpr std::size_t most_files = 1000; // includes of includes multiply
constexpr std::size_t most_directories = 256;
constexpr std::size_t most_libraries = 16; // of a directory, which are looked at

/// ld.so.conf and its includes, read the way ldconfig reads them.
class LoaderConfiguration {
public:
    LoaderConfiguration(const DriverRoot& root, std::vector<std::string>& directories)
        : root_(root), directories_(directories)
    {
    }

    void read(const std::string& path, int depth = 0)
    {
        if (depth > deepest_include || ++files_ > most_files)
            return;
        const auto file = root_.open_file(path);
        if (!file)
            return;
        const auto content =
            root_.noted(base::read_all(file->fd.get(), largest_configuration), path);
        if (!content)
            return;
        for (std::string_view line : base::split(*content, '\n'))
            read_line(base::trim(line.substr(0, line.find('#'))), path, depth);
    }

private:
    void read_line(std::string_view line, const std::string& path, int depth)
    {
        constexpr std::string_view include = "include";
        if (line.starts_with(include) && line.size() > include.size()
            && (line[include.size()] == ' ' || line[include.size()] == '\t'))
            read_included(line.substr(include.size()), path, depth);
        else if (line.starts_with('/') && directories_.size() < most_directories)
            directories_.emplace_back(line);
    }

    void read_included(std::string_view patterns, const std::string& path, int depth)
    {
        const std::string here = std::string(base::directory_of(path)) + "/";
        for (std::string_view words : base::split(patterns, '\t'))
            for (std::string_view pattern : base::split(words, ' '))
                if (!pattern.empty())
                    read_matching(
                        base::format("{}{}", pattern.starts_with('/') ? "" : here, pattern), depth);
    }

    void read_matching(const std::string& pattern, int depth)
    {
        const std::string directory(base::directory_of(pattern));
        const std::string name(base::name_of(pattern));
        for (const std::string& candidate : root_.list(directory))
            if (::fnmatch(name.c_str(), candidate.c_str(), FNM_PERIOD) == 0)
                read(base::format("{}/{}", directory, candidate), depth + 1);
    }

    const DriverRoot& root_;
    std::vector<std::string>& directories_;
    std::size_t files_ = 0;
};

constexpr const char* cache_path = "/etc/ld.so.cache";
constexpr std::size_t most_names = 100'000;
constexpr int file_flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

Result<struct stat> status_of_file(const base::UniqueFd& fd, const std::string& path)
{
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, path).with_object(path);
    if (!S_ISREG(status.st_mode))
        return Error(Errc::driver, path + ": not a regular file").with_object(path);
    return status;
}

} // namespace

DriverRoot::DriverRoot(base::UniqueFd fd, std::string prefix)
    : fd_(std::move(fd)), prefix_(std::move(prefix))
{
}

Result<DriverRoot> DriverRoot::open(const std::string& path)
{
    base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, "driver root " + path, Errc::driver)
            .with_object(path)
            .with_hint("name the directory that holds the driver's /usr and /etc");
    // Where its files lie is what /proc says of them.
    GPUCTR_CHECK(base::open_own_descriptors());
    GPUCTR_TRY(std::string prefix, base::path_of(fd.get()), "driver root {}", path);
    if (prefix == "/")
        prefix.clear();

    DriverRoot root(std::move(fd), std::move(prefix));
    root.machine_ = &root.find_machine();
    if (auto file = root.open_file(cache_path))
        if (auto content = root.noted(
                base::LazyFile::open(std::move(file->fd), elf::max_cache_size), cache_path))
            if (auto cache = root.noted(elf::LdCache::parse(*std::move(content)), cache_path))
                root.cache_ = *std::move(cache);
    return root;
}

/// Programs of this process's root directory run on this machine. Another root may be of another
/// architecture: its loader tells, or the libraries of an unpacked driver.
const elf::Machine& DriverRoot::find_machine() const
{
    if (prefix_.empty() || look(std::string(elf::own_machine().loader)))
        return elf::own_machine();
    for (const elf::Machine& machine : elf::machines)
        if (look(std::string(machine.loader)))
            return machine;
    std::vector<std::string> directories = {"/", "/usr/lib64", "/usr/lib"};
    for (const elf::Machine& machine : elf::machines)
        directories.push_back(base::format("/usr/lib/{}", machine.multiarch));
    for (const std::string& directory : directories)
        if (const elf::Machine* const machine = machine_of_libraries(directory))
            return *machine;
    return elf::own_machine();
}

/// That of the first library in a directory that is for a known one; null if there is none.
const elf::Machine* DriverRoot::machine_of_libraries(const std::string& directory) const
{
    std::size_t looked_at = 0;
    for (const std::string& name : list(directory)) {
        if (!name.starts_with("lib") || name.find(".so") == std::string::npos)
            continue;
        if (++looked_at > most_libraries)
            break;
        const std::string path = base::format("{}/{}", directory == "/" ? "" : directory, name);
        const auto file = open_file(path);
        if (!file)
            continue;
        const auto facts = noted(elf::read_facts(file->fd.get()), path);
        if (!facts)
            continue;
        for (const elf::Machine& machine : elf::machines)
            if (elf::is_for(*facts, machine))
                return &machine;
    }
    return nullptr;
}

std::vector<elf::CacheEntry> DriverRoot::cached(std::string_view soname,
                                                const elf::Machine& machine) const
{
    return cache_ ? cache_->lookup(soname, machine.cache_flags) : std::vector<elf::CacheEntry>();
}

bool DriverRoot::is_loaded(const elf::CacheEntry& entry) const noexcept
{
    return entry.flags == machine_->cache_flags && entry.hwcap == 0;
}

Result<void> DriverRoot::check() const
{
    std::optional<Trouble> trouble = trouble_;
    if (!trouble && cache_ && cache_->read_error() != 0)
        trouble = {cache_->read_error(), cache_path};
    if (!trouble)
        return {};
    const std::string path = prefix_ + trouble->path;
    return Error::from_errno(trouble->os_error, path, Errc::driver)
        .with_object(path)
        .with_hint("a driver of which a part cannot be read is not used; the kernel's log may "
                   "say why");
}

/// Path of an open file in the driver root.
Result<std::string> DriverRoot::real_path(int fd, const std::string& path) const
{
    GPUCTR_TRY(std::string real, base::path_of(fd));
    if (!base::is_below(real, prefix_))
        return Error(Errc::driver, path + ": lies outside the driver root").with_object(path);
    return real.erase(0, prefix_.size());
}

Result<DriverRoot::File> DriverRoot::open_file(const std::string& path) const
{
    File file;
    note_opening(path);
    GPUCTR_TRY(file.fd, noted(base::open_below(fd_.get(), path, file_flags), path));
    GPUCTR_TRY(file.status, noted(status_of_file(file.fd, path), path));
    GPUCTR_TRY(file.real_path, noted(real_path(file.fd.get(), path), path));
    return file;
}

Result<struct stat> DriverRoot::look(const std::string& path) const
{
    note_look(path);
    GPUCTR_TRY(const base::UniqueFd fd, noted(base::open_below(fd_.get(), path, O_PATH), path));
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0)
        return noted<struct stat>(Error::from_errno(errno, path).with_object(path), path);
    return status;
}

Result<DriverRoot::Directory> DriverRoot::open_directory(const std::string& path) const
{
    Directory directory;
    note_look(path);
    GPUCTR_TRY(directory.fd,
               noted(base::open_below(fd_.get(), path, O_RDONLY | O_DIRECTORY), path));
    GPUCTR_TRY(directory.real_path, noted(real_path(directory.fd.get(), path), path));
    if (directory.real_path == "/")
        directory.real_path.clear();
    return directory;
}

void DriverRoot::visit(const Directory& directory,
                       const std::function<void(std::string_view)>& visit) const
{
    (void)noted(base::visit_directory(directory.fd.get(), ".", most_names, visit),
                directory.real_path);
}

Result<DriverRoot::File> DriverRoot::open_in(const Directory& directory,
                                             const std::string& name) const
{
    const std::string path = base::format("{}/{}", directory.real_path, name);
    File file;
    note_opening(path);
    file.fd.reset(::openat(directory.fd.get(), name.c_str(), file_flags | O_NOFOLLOW | O_CLOEXEC));
    if (!file.fd && errno == ELOOP)
        return open_file(path);
    if (!file.fd)
        return noted<File>(Error::from_errno(errno, path).with_object(path), path);
    GPUCTR_TRY(file.status, noted(status_of_file(file.fd, path), path));
    file.real_path = path;
    return file;
}

std::optional<std::string> DriverRoot::link_target(const std::string& path) const
{
    note_look(path);
    const auto link = noted(base::open_below(fd_.get(), path, O_PATH | O_NOFOLLOW), path);
    if (!link)
        return std::nullopt;
    auto target = noted(base::read_link(link->get(), ""), path);
    return target ? std::optional(*std::move(target)) : std::nullopt;
}

std::vector<std::string> DriverRoot::list(const std::string& directory) const
{
    note_look(directory);
    const auto opened =
        noted(base::open_below(fd_.get(), directory, O_RDONLY | O_DIRECTORY), directory);
    if (!opened)
        return {};
    auto names = noted(base::list_directory(opened->get(), "."), directory);
    return names ? *std::move(names) : std::vector<std::string>();
}

std::vector<std::string> DriverRoot::configured_directories() const
{
    std::vector<std::string> directories;
    LoaderConfiguration(*this, directories).read("/etc/ld.so.conf");
    for (const char* top : {"/lib", "/usr/lib"})
        directories.push_back(base::format("{}/{}", top, machine_->multiarch));
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
        directories.emplace_back(directory);
    return directories;
}

} // namespace gpucontainer::host
