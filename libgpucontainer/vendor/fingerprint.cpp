// SPDX-License-Identifier: MIT
#include "vendor/fingerprint.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "vendor/vendor.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace gpucontainer::vendor {
namespace {

constexpr std::string_view missing = "missing";

struct stat status_of(const std::string& path)
{
    struct stat status = {};
    if (::fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        status = {};
    return status;
}

/// The time of change moves with content, owner and permissions, and nobody can
/// set it back.
std::string identity(const struct stat& status)
{
    if (status.st_ino == 0)
        return std::string(missing);
    return fmt::format("{}:{} {:o} {}.{:09}", status.st_dev, status.st_ino, status.st_mode,
                       status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::string state_of(const KernelPlace& place, const std::string& path)
{
    switch (place.how) {
    case KernelPlace::How::content: {
        const auto text = base::read_file(path);
        return text ? std::string(base::trim(*text)) : std::string(missing);
    }
    case KernelPlace::How::names: {
        const auto names = base::list_directory(AT_FDCWD, path);
        return names ? fmt::format("{}", fmt::join(*names, " ")) : std::string(missing);
    }
    case KernelPlace::How::inode:
        return std::to_string(status_of(path).st_ino);
    }
    return "";
}

std::string state_of_node(const std::string& path)
{
    const struct stat status = status_of(path);
    // The device cgroup may change while the node stays as it is.
    const bool accessible = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    return identity(status) + (accessible ? " rw" : "");
}

} // namespace

std::vector<Mark> fingerprint(const std::string& system_root, std::span<const DriverStack> drivers)
{
    std::vector<Mark> marks;
    const auto add_kernel_place = [&](const KernelPlace& place) {
        const std::string path(place.path);
        marks.push_back({path, state_of(place, system_root + path)});
    };
    const auto add_path = [&](std::string path) {
        std::string state = identity(status_of(path));
        marks.push_back({std::move(path), std::move(state)});
    };
    const auto add_node = [&](const DeviceNode& node) {
        marks.push_back({node.host_path, state_of_node(system_root + node.host_path)});
    };

    add_kernel_place({"/proc/sys/kernel/random/boot_id", KernelPlace::How::content});
    for (const Vendor& vendor : vendors())
        std::ranges::for_each(vendor.kernel_places, add_kernel_place);
    for (const DriverStack& driver : drivers) {
        std::set<std::string> directories;
        for (const DriverFile& file : driver.files)
            directories.emplace(base::directory_of(file.path));
        std::ranges::for_each(directories, add_path);
        add_path((driver.root == "/" ? "" : driver.root) + "/etc/ld.so.cache");
        std::ranges::for_each(driver.nodes, add_node);
        std::ranges::for_each(driver.missing_nodes, add_node);
    }
    return marks;
}

bool is_current(const std::string& system_root, std::span<const DriverStack> drivers,
                std::span<const Mark> marks)
{
    // The kernel learns a GPU's UUID when it is used for the first time.
    for (const DriverStack& driver : drivers)
        if (driver.version_source == VersionSource::module
            && std::ranges::any_of(driver.gpus, [](const Gpu& gpu) { return gpu.uuid.empty(); }))
            return false;
    return std::ranges::equal(fingerprint(system_root, drivers), marks);
}

} // namespace gpucontainer::vendor
