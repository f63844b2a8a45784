// SPDX-License-Identifier: MIT
#include "cdi/directories.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"
#include "cdi/read.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace gpucontainer::cdi {
namespace {

using base::UniqueFd;
using model::FindingCode;

constexpr std::array<std::string_view, 2> engines_directories = {"/etc/cdi", "/var/run/cdi"};
constexpr std::size_t most_files = 1000;

/// What a file name says its form is; none if no engine reads it.
std::optional<Form> form_of(std::string_view path)
{
    if (path.ends_with(".json"))
        return Form::json;
    return path.ends_with(".yaml") ? std::optional(Form::yaml) : std::nullopt;
}

bool is_directory(const std::string& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

struct ReadFile {
    std::string text;
    std::string distrust; ///< As in ListedFile, like the next.
    std::string remedy;
};

/// Opens what a path leads to, and says why it may have been written by somebody else.
UniqueFd open_judged(const std::string& path, ReadFile& file)
{
    const auto distrust = [&](const Error& error) {
        file.distrust = error.message();
        file.remedy = error.hint();
    };
    auto way = base::TrustedWay::walk(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!way) {
        distrust(way.error());
        const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return UniqueFd{fd};
    }
    if (!way->fd) {
        errno = ENOENT;
        return {};
    }
    if (way->distrust)
        distrust(*way->distrust);
    else if (auto trusted = base::check_trust(way->fd.get(), path); !trusted)
        distrust(trusted.error());
    return std::move(way->fd);
}

/// Opening a FIFO does not block, and a device is not opened.
Result<ReadFile> read_regular(const std::string& path)
{
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0)
        return Error(Errc::usage, ::strerrordesc_np(errno));
    if (!S_ISREG(status.st_mode))
        return Error(Errc::usage, "not a regular file");
    if (static_cast<std::uint64_t>(status.st_size) > largest_document)
        return Error(Errc::usage, base::format("larger than {} bytes", largest_document));
    ReadFile file;
    const UniqueFd fd = open_judged(path, file);
    if (!fd)
        return Error(Errc::usage, ::strerrordesc_np(errno));
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return Error(Errc::usage, "not a regular file");
    GPUCTR_TRY(file.text, base::read_all(fd.get(), largest_document));
    return file;
}

class Reading {
public:
    Listing listing;

    void add_path(const std::string& path)
    {
        struct stat status = {};
        const bool is_missing = ::stat(path.c_str(), &status) != 0 && errno == ENOENT;
        if (is_directory(path))
            add_directory(path);
        else if (!is_missing || form_of(path)) // an engine passes over a missing directory
            add_file(path, std::string(base::directory_of(path)));
    }

    /// Tells which device counts, once all files are read.
    void finish()
    {
        for (const auto& [name, owners] : owners_)
            settle(name, owners);
    }

private:
    void settle(const std::string& name, const std::vector<std::size_t>& owners)
    {
        const std::size_t highest = priority_of(owners.back());
        std::vector<std::size_t> winners;
        for (const std::size_t owner : owners) {
            if (priority_of(owner) == highest)
                winners.push_back(owner);
            listing.devices[owner].state = State::overridden;
        }
        for (const std::size_t winner : winners)
            listing.devices[winner].state = winners.size() > 1 ? State::conflict : State::usable;
        if (winners.size() > 1)
            report_conflict(name, winners);
    }

    void add_directory(const std::string& directory)
    {
        auto names = base::list_directory(AT_FDCWD, directory, most_files);
        if (!names) {
            report(directory, 0, names.error().message());
            return;
        }
        for (const std::string& name : *names)
            if (const std::string path = base::format("{}/{}", directory, name);
                form_of(path) && !is_directory(path))
                add_file(path, directory);
    }

    void add_file(const std::string& path, const std::string& directory)
    {
        const auto form = form_of(path);
        if (!form) {
            report(path, 0, "its name ends neither in .json nor in .yaml");
            return;
        }
        if (!is_new(path))
            return;
        auto file = read_regular(path);
        if (!file) {
            report(path, 0, file.error().message());
            return;
        }
        Document document = read_document(file->text, *form);
        for (const Fault& fault : document.faults)
            report(path, fault.line, fault.message());
        if (document.faults.empty())
            add_specification(directory, {path, std::move(document.specification),
                                          std::move(file->distrust), std::move(file->remedy)});
    }

    /// /run/cdi and /var/run/cdi are mostly the same directory.
    bool is_new(const std::string& path)
    {
        struct stat status = {};
        return ::stat(path.c_str(), &status) != 0
               || seen_.emplace(status.st_dev, status.st_ino).second;
    }

    void add_specification(const std::string& directory, ListedFile file)
    {
        const Specification& specification = file.specification;
        const std::size_t priority =
            priorities_.emplace(directory, priorities_.size()).first->second;
        for (const Device& device : specification.devices) {
            const std::string name = base::format("{}={}", specification.kind, device.name);
            owners_[name].push_back(listing.devices.size());
            priority_of_device_.push_back(priority);
            listing.devices.push_back({name, file.path});
        }
        listing.files.push_back(std::move(file));
    }

    std::size_t priority_of(std::size_t device) const { return priority_of_device_[device]; }

    void report(const std::string& path, std::size_t line, std::string why)
    {
        listing.findings.push_back({FindingCode::cdi_invalid,
                                    line == 0 ? path : base::format("{}:{}", path, line),
                                    std::move(why), path});
    }

    void report_conflict(const std::string& name, const std::vector<std::size_t>& owners)
    {
        const std::string& first = listing.devices[owners[0]].path;
        const std::string& second = listing.devices[owners[1]].path;
        // One finding for each pair of files: they mostly have many devices in common.
        if (conflicts_.emplace(first, second).second)
            listing.findings.push_back(
                {FindingCode::cdi_conflict, name,
                 base::format("{} and {} have it, so no engine takes it from either", first,
                              second),
                 second, "remove one of the files"});
    }

    std::map<std::string, std::size_t> priorities_; ///< Of directories.
    std::map<std::string, std::vector<std::size_t>> owners_;
    std::vector<std::size_t> priority_of_device_;
    std::set<std::pair<dev_t, ino_t>> seen_;
    std::set<std::pair<std::string, std::string>> conflicts_;
};

/// Reports problems of the edits of one file, each once.
class Outdated {
public:
    Outdated(const std::string& path, model::Findings& findings) : path_(path), findings_(findings)
    {
    }

    void check(const Edits& edits)
    {
        for (const Mount& mount : edits.mounts)
            if (mount.type.empty() || mount.type == "none" || mount.type == "bind")
                require_there(mount.host_path);
        for (const Hook& hook : edits.hooks)
            require_there(hook.path);
        for (const DeviceNode& node : edits.nodes)
            check(node);
    }

private:
    void require_there(const std::string& path)
    {
        struct stat status = {};
        if (path.starts_with('/') && ::stat(path.c_str(), &status) != 0)
            report(path, base::format("{}: {}", path, ::strerrordesc_np(errno)));
    }

    void check(const DeviceNode& node)
    {
        const std::string& path = node.host_path.empty() ? node.path : node.host_path;
        struct stat status = {};
        if (::lstat(path.c_str(), &status) != 0) {
            // With type and number, an engine needs no node of the host.
            if (node.type.empty() || node.major.value_or(0) == 0)
                report(path, base::format("{}: {}", path, ::strerrordesc_np(errno)));
            return;
        }
        if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode) && !S_ISFIFO(status.st_mode)) {
            report(path, base::format("{}: not a device node", path));
            return;
        }
        const std::int64_t major = ::major(status.st_rdev);
        const std::int64_t minor = ::minor(status.st_rdev);
        if (node.major.value_or(0) != 0 && (node.major != major || node.minor.value_or(0) != minor))
            report(path, base::format("{}: containers get a node of number {}:{}, and this host's "
                                      "is {}:{}",
                                      path, *node.major, node.minor.value_or(0), major, minor));
    }

    void report(const std::string& path, std::string why)
    {
        constexpr std::size_t most = 100;
        if (seen_.size() < most && seen_.insert(path).second)
            findings_.push_back({FindingCode::cdi_outdated, path_, std::move(why), path,
                                 "write the specification again"});
    }

    const std::string& path_;
    model::Findings& findings_;
    std::set<std::string> seen_;
};

} // namespace

namespace {

/// Whether loaders find libraries by a mount.
bool has_libraries(const Mount& mount)
{
    const std::string_view path = mount.container_path;
    return base::name_of(path).find(".so") != std::string_view::npos
           || path.find("/glibc-hwcaps/") != std::string_view::npos || path.ends_with("/tls");
}

bool mounts_libraries(const Edits& edits)
{
    return std::ranges::any_of(edits.mounts, has_libraries);
}

} // namespace

void report_limits(const ListedFile& file, model::Findings& findings)
{
    const Specification& all = file.specification;
    bool has_hooks = !all.edits.hooks.empty();
    bool has_mounts = mounts_libraries(all.edits);
    for (const Device& device : all.devices) {
        has_hooks = has_hooks || !device.edits.hooks.empty();
        has_mounts = has_mounts || mounts_libraries(device.edits);
    }
    if (has_mounts && !has_hooks)
        findings.push_back({FindingCode::cdi_after_cache, file.path,
                            "without a hook, its libraries come after those in an image's loader "
                            "cache: an old driver there is found first",
                            file.path,
                            "`gpuctr-setup cdi generate --hooks` writes a specification for such "
                            "images"});
}

std::span<const std::string_view> usual_directories() { return engines_directories; }

std::string_view name(State state)
{
    switch (state) {
    case State::usable:
        return "usable";
    case State::overridden:
        return "overridden";
    case State::conflict:
        return "conflict";
    }
    return "";
}

Listing read_paths(std::span<const std::string> paths)
{
    Reading reading;
    for (const std::string& path : paths)
        reading.add_path(path);
    reading.finish();
    return std::move(reading.listing);
}

void report_outdated(const ListedFile& file, model::Findings& findings)
{
    Outdated outdated(file.path, findings);
    outdated.check(file.specification.edits);
    for (const Device& device : file.specification.devices)
        outdated.check(device.edits);
}

} // namespace gpucontainer::cdi
