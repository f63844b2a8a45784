// SPDX-License-Identifier: MIT
#include "capture/kernel_texts.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "capture/command_line.hpp"
#include "capture/public_file.hpp"
#include "drivers/described_maker.hpp"
#include "drivers/wsl.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t largest_kernel_text = 256U << 10U;
constexpr std::size_t most_texts = 20'000;
constexpr std::size_t most_parameters = 200; // of a module
constexpr int deepest_of_kernel = 8;

constexpr const char* command_line = "/proc/cmdline";
constexpr std::array texts = {
    "/proc/devices",
    "/proc/version",
    "/proc/device-tree/compatible",
    "/proc/device-tree/model",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/soc0/family",
    "/sys/devices/soc0/machine",
    "/sys/devices/soc0/soc_id",
};

/// Whether it is not there, be it a file or a directory above it.
bool is_missing(int os_error) { return os_error == ENOENT || os_error == ENOTDIR; }

/// Adds the files below a directory of the kernel.
void add_tree(const std::string& system_root, const std::string& path, int depth, Report& report)
{
    const auto names = base::list_directory(AT_FDCWD, system_root + path);
    if (!names) {
        if (!is_missing(names.error().os_error()))
            report.unread.emplace_back(path, names.error().cause());
        return;
    }
    for (const std::string& name : *names) {
        const std::string below = base::format("{}/{}", path, name);
        struct stat status = {};
        if (::lstat((system_root + below).c_str(), &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && depth < deepest_of_kernel)
            add_tree(system_root, below, depth + 1, report);
        else if (S_ISREG(status.st_mode) && report.members.size() < most_texts)
            if (const std::string text = kernel_text(system_root + below, report); !text.empty())
                report.add(below.substr(1), text);
    }
}

/// Only directories: drivers of GPUs have one each, and other drivers single files.
void add_driver_directories(const std::string& system_root, Report& report)
{
    const std::string top = "/proc/driver";
    const auto names = base::list_directory(AT_FDCWD, system_root + top);
    if (!names)
        return;
    for (const std::string& name : *names) {
        struct stat status = {};
        const std::string path = base::format("{}/{}", top, name);
        if (::lstat((system_root + path).c_str(), &status) == 0 && S_ISDIR(status.st_mode))
            add_tree(system_root, path, 1, report);
    }
}

/// Names of the modules that drivers say they are.
std::set<std::string> modules_of(std::span<const drivers::Vendor> vendors)
{
    constexpr std::string_view directory = "/sys/module/";
    std::set<std::string> wanted = {"nouveau", "vfio_pci", "drm"};
    for (const std::string& place : places_of(vendors))
        if (place.starts_with(directory)) {
            const std::string_view rest = std::string_view(place).substr(directory.size());
            wanted.emplace(rest.substr(0, rest.find('/')));
        }
    for (const drivers::Vendor& vendor : vendors) {
        if (vendor.loading != nullptr)
            for (const drivers::KernelModule& module : vendor.loading->modules) {
                std::string name(module.name);
                std::ranges::replace(name, '-', '_');
                wanted.insert(std::move(name));
            }
    }
    return wanted;
}

/// Whether it is one of these, or begins with the name of one: "nvidia_uvm".
bool is_module_of(const std::set<std::string>& wanted, std::string_view name)
{
    return std::ranges::any_of(
        wanted, [&](const std::string& one) { return name == one || name.starts_with(one + "_"); });
}

void add_texts(const std::string& system_root, const std::set<std::string>& modules, Report& report)
{
    for (const std::string path : texts)
        if (const std::string text = kernel_text(system_root + path, report); !text.empty())
            report.add(path.substr(1), text);
    std::string text = kernel_text(system_root + command_line, report);
    if (text.empty())
        return;
    if (!report.replacements.keeps_all())
        text = without_values(
            text, [&](std::string_view module) { return is_module_of(modules, module); });
    report.members.insert_or_assign(std::string(command_line).substr(1),
                                    report.replacements.in(text, Replacements::Text::settings));
}

void add_module(const std::string& system_root, const std::string& name, Report& report)
{
    const std::string directory = base::format("/sys/module/{}", name);
    bool is_loaded = false; // else it is a part of the kernel
    for (const char* file : {"initstate", "version", "refcnt"})
        if (const std::string text =
                kernel_text(base::format("{}{}/{}", system_root, directory, file), report);
            !text.empty()) {
            is_loaded = true;
            report.add(base::format("{}/{}", directory.substr(1), file), text);
        }
    if (!is_loaded)
        return;
    const std::string parameters = directory + "/parameters";
    const auto names = base::list_directory(AT_FDCWD, system_root + parameters, most_parameters);
    if (names)
        for (const std::string& one : *names)
            if (const std::string text =
                    kernel_text(base::format("{}{}/{}", system_root, parameters, one), report);
                !text.empty())
                report.add(base::format("{}/{}", parameters.substr(1), one), text);
}

/// /proc/modules without the addresses that root sees.
std::string without_addresses(std::string_view text)
{
    std::string result;
    for (const std::string_view line : base::split(text, '\n')) {
        const auto at = line.rfind(" 0x");
        if (!line.empty())
            result += base::format("{}{}\n", line.substr(0, at),
                                   at == std::string_view::npos ? "" : " 0x0000000000000000");
    }
    return result;
}

} // namespace

std::vector<std::string> places_of(std::span<const drivers::Vendor> vendors)
{
    std::vector<std::string> places = {std::string(drivers::wsl::kernel_place.path)};
    for (const drivers::Vendor& vendor : vendors) {
        for (const drivers::KernelPlace& place : vendor.kernel_places)
            places.emplace_back(place.path);
        if (vendor.maker != nullptr)
            for (drivers::DescribedPlace& place : drivers::kernel_places_of(*vendor.maker))
                places.push_back(std::move(place.path));
    }
    return places;
}

std::string kernel_text(const std::string& path, Report& report)
{
    auto text = read_public(path, largest_kernel_text);
    if (text)
        return *std::move(text);
    // EINVAL: the kernel has nothing to say there.
    if (const int error = text.error().os_error(); !is_missing(error) && error != EINVAL)
        report.unread.emplace_back(path, text.error().cause());
    return "";
}

void add_kernel_texts(const std::string& system_root, std::span<const drivers::Vendor> vendors,
                      Report& report)
{
    const std::set<std::string> modules = modules_of(vendors);
    add_driver_directories(system_root, report); // has UUIDs of which others name the beginning
    add_texts(system_root, modules, report);
    if (const std::string text = kernel_text(system_root + "/proc/modules", report); !text.empty())
        report.add("proc/modules", without_addresses(text));
    if (const auto loaded = base::list_directory(AT_FDCWD, system_root + "/sys/module"))
        for (const std::string& name : *loaded)
            if (is_module_of(modules, name))
                add_module(system_root, name, report);
}

} // namespace gpucontainer::capture
