// SPDX-License-Identifier: MIT
#include "sys_tree.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::simhost {
namespace {

using namespace std::string_view_literals;

constexpr std::array buses = {"pci"sv, "usb"sv, "platform"sv, "virtio"sv, "auxiliary"sv, "node"sv};

/// "../" for each component of a directory below /sys.
std::string up(std::string_view directory)
{
    std::string steps;
    for (const char c : directory)
        if (c == '/')
            steps += "../";
    return steps;
}

/// Directory of a subsystem below /sys: "/bus/pci".
std::string subsystem_directory(std::string_view subsystem)
{
    const bool is_bus = std::find(buses.begin(), buses.end(), subsystem) != buses.end();
    return base::format("/{}/{}", is_bus ? "bus" : "class", subsystem);
}

/// A link at `path` to `target`, both below /sys, relative as in sysfs.
Result<void> link_within(Tree& tree, const std::string& path, std::string_view target)
{
    return tree.link(path, up(base::directory_of(path)) + std::string(target.substr(1)));
}

std::string driver_of(const SysDevice& device)
{
    const auto link = std::find_if(device.links.begin(), device.links.end(),
                                   [](const NamedText& l) { return l.name == "driver"; });
    return link == device.links.end() ? std::string() : std::string(base::name_of(link->text));
}

Result<void> lay_driver(Tree& tree, const std::string& subsystem, const SysDevice& device)
{
    const std::string driver = driver_of(device);
    if (driver.empty())
        return {};
    const std::string directory = subsystem + "/drivers/" + driver;
    GPUCTR_CHECK(
        link_within(tree, directory + "/" + std::string(base::name_of(device.path)), device.path));
    const std::string module = "/module/" + driver;
    if (!tree.has_directory(module))
        return {};
    GPUCTR_CHECK(link_within(tree, directory + "/module", module));
    const std::string name = base::format("{}:{}", base::name_of(subsystem), driver);
    return link_within(tree, module + "/drivers/" + name, directory);
}

Result<void> lay_device(Tree& tree, const SysDevice& device)
{
    GPUCTR_CHECK(tree.directory(device.path));
    const std::string_view subsystem = device.property("SUBSYSTEM");
    if (!subsystem.empty()) {
        const std::string directory = subsystem_directory(subsystem);
        const bool is_bus = directory.starts_with("/bus/");
        const std::string name(base::name_of(device.path));
        GPUCTR_CHECK(
            link_within(tree, directory + (is_bus ? "/devices/" : "/") + name, device.path));
        GPUCTR_CHECK(lay_driver(tree, directory, device));
    }
    const std::string_view major = device.property("MAJOR");
    const std::string_view minor = device.property("MINOR");
    if (major.empty() || minor.empty())
        return {};
    const auto kind = subsystem == "block" ? "block" : "char";
    return link_within(tree, base::format("/dev/{}/{}:{}", kind, major, minor), device.path);
}

} // namespace

DeviceFiles files_of(const SysDevice& device)
{
    constexpr std::string_view dev = "/dev/";
    DeviceFiles all;
    all.files = device.attributes;
    all.links = device.links;
    std::string uevent;
    for (const NamedText& property : device.properties) {
        if (property.name == "SUBSYSTEM")
            continue;
        std::string_view text = property.text;
        if (property.name == "DEVNAME" && text.starts_with(dev))
            text.remove_prefix(dev.size()); // the kernel leaves it out
        uevent += base::format("{}={}\n", property.name, text);
    }
    all.files.push_back({"uevent", uevent});
    if (const auto subsystem = device.property("SUBSYSTEM"); !subsystem.empty())
        all.links.push_back(
            {"subsystem", up(device.path) + subsystem_directory(subsystem).substr(1)});
    return all;
}

Result<void> lay_sys_tree(const Recording& host, Tree& tree)
{
    constexpr std::size_t mount_point = sizeof("/sys") - 1;
    for (const auto* directory : {"/bus/pci/devices", "/bus/pci/drivers", "/class", "/module",
                                  "/devices", "/dev/char", "/dev/block", "/block"})
        GPUCTR_CHECK(tree.directory(directory));
    for (const TextFile& file : host.sys)
        GPUCTR_CHECK(tree.file(file.path.substr(mount_point), file.content, 0444));
    for (const SysDevice& device : host.devices)
        GPUCTR_CHECK(lay_device(tree, device), "lay {}", device.path);
    return {};
}

Result<void> lay_device_directories(const Recording& host, Tree& tree)
{
    for (const SysDevice& device : host.devices) {
        const DeviceFiles all = files_of(device);
        for (const NamedText& file : all.files)
            GPUCTR_CHECK(tree.file(device.path + "/" + file.name, file.text, 0444));
        for (const NamedText& link : all.links)
            GPUCTR_CHECK(tree.link(device.path + "/" + link.name, link.text));
    }
    return {};
}

bool has_nested_devices(const std::vector<SysDevice>& devices)
{
    std::vector<std::string> paths;
    paths.reserve(devices.size());
    for (const SysDevice& device : devices)
        paths.push_back(device.path + "/");
    std::sort(paths.begin(), paths.end()); // what lies below a path follows it
    return std::adjacent_find(paths.begin(), paths.end(),
                              [](const auto& a, const auto& b) { return b.starts_with(a); })
           != paths.end();
}

} // namespace gpucontainer::simhost
