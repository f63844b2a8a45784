// SPDX-License-Identifier: MIT
#include "capture/devices.hpp"

#include "base/c_handle.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "capture/kernel_texts.hpp"
#include "host/enumerator.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t most_devices = 10'000;
constexpr std::size_t most_of_vendor = 64; // of functions that are no GPUs
constexpr std::size_t largest_attribute = 4096;
constexpr std::size_t most_levels = 32;  // of devices in devices
constexpr std::size_t most_parts = 1000; // names in a directory of a device
constexpr std::size_t header_of_config = 64;

/// Attributes that tell what a device is. The kernel knows them without asking it.
constexpr std::array attributes = {
    "class",
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "revision",
    "numa_node",
    "enable",
    "local_cpulist",
    "boot_vga",
    "modalias",
    "irq",
    "dev",
    "index",
    "product_name",
    "unique_id",
    "pci_addr",
    "module_id",
    "name",
    "sriov_numvfs",
    "power/control",
    "power/runtime_status",
};
/// Those whose value tells one machine from all others.
constexpr std::array identities = {"unique_id", "serial_number", "serial", "uuid"};
constexpr std::array device_links = {"driver", "physfn", "device", "iommu_group"};

std::string real_path_of(const std::string& path)
{
    const base::CHandle<char, ::free> real(::realpath(path.c_str(), nullptr));
    return real ? real.get() : "";
}

std::string escaped(std::string_view text)
{
    std::string result;
    for (const char c : text)
        switch (c) {
        case '\\':
            result += "\\\\";
            break;
        case '\n':
            result += "\\n";
            break;
        case '\t':
            result += "\\t";
            break;
        case '\r':
            result += "\\r";
            break;
        default:
            result += c;
        }
    return result;
}

bool is_line(std::string_view text) { return std::ranges::none_of(text, base::is_control); }

class Devices {
public:
    Devices(const std::string& system_root, std::span<const drivers::Vendor> vendors,
            Report& report)
        : root_(system_root), report_(report)
    {
        for (const char* name : attributes)
            attributes_.emplace_back(name);
        for (const drivers::Vendor& vendor : vendors)
            if (vendor.maker != nullptr)
                for (const std::string_view name : {vendor.maker->uuid, vendor.maker->model})
                    if (!name.empty())
                        attributes_.emplace_back(name);
        for (const drivers::Vendor& vendor : vendors)
            if (vendor.maker != nullptr && !vendor.maker->uuid.empty())
                identities_.emplace(vendor.maker->uuid);
        for (const char* name : identities)
            identities_.emplace(name);
    }

    /// Display controllers and accelerators, and other functions of their makers.
    void add_functions()
    {
        const std::string bus = root_ + "/sys/bus/pci/devices";
        const auto names = base::list_directory(AT_FDCWD, bus);
        if (!names)
            return;
        std::map<std::string, std::vector<std::string>> others;
        std::set<std::string> makers;
        for (const std::string& name : *names) {
            const std::string path = base::format("{}/{}", bus, name);
            const std::string code(base::trim(kernel_text(path + "/class", report_)));
            const std::string vendor(base::trim(kernel_text(path + "/vendor", report_)));
            if (code.starts_with("0x03") || code.starts_with("0x12")) {
                makers.insert(vendor);
                add(path);
            } else {
                others[vendor].push_back(path);
            }
        }
        for (const std::string& maker : makers)
            if (const auto& functions = others[maker]; functions.size() <= most_of_vendor)
                for (const std::string& path : functions)
                    add(path);
    }

    void add_classes(const Classes& classes)
    {
        for (const std::string& name : classes.whole) {
            const std::string directory = base::format("{}/sys/class/{}", root_, name);
            const auto names = base::list_directory(AT_FDCWD, directory);
            if (names)
                for (const std::string& device : *names)
                    add_with_parents(base::format("{}/{}", directory, device));
        }
        for (const auto& [name, device] : classes.single)
            add_with_parents(base::format("{}/sys/class/{}/{}", root_, name, device));
    }

    /// And what it is a part of, up to the PCI function.
    void add_with_parents(const std::string& path)
    {
        std::string real = real_path_of(path);
        if (!add(path))
            return;
        for (std::size_t level = 0; level < most_levels; ++level) {
            real = base::directory_of(real);
            if (!base::is_below(real, root_ + "/sys/devices") || real.size() <= root_.size() + 12)
                return;
            if (!base::read_link(AT_FDCWD, real + "/subsystem"))
                continue;
            add(real);
            if (host::is_pci_address(base::name_of(real)))
                return;
        }
    }

    std::string text() const
    {
        std::string all;
        for (const auto& [path, lines] : devices_)
            all += lines + "\n";
        return all;
    }

private:
    /// Adds the device of a directory of sysfs. False if there is none.
    bool add(const std::string& path)
    {
        const std::string real = real_path_of(path);
        const std::string top = root_ + "/sys";
        if (!base::is_below(real, top + "/devices") || !is_line(real))
            return false;
        const std::string name = real.substr(top.size());
        if (devices_.contains(name))
            return true;
        if (devices_.size() >= most_devices)
            return false;
        std::string lines = base::format("P: {}\n", name);
        if (const auto subsystem = base::read_link(AT_FDCWD, real + "/subsystem"))
            lines += base::format("E: SUBSYSTEM={}\n", base::name_of(*subsystem));
        const std::string event = kernel_text(real + "/uevent", report_);
        for (const std::string_view line : base::split(event, '\n'))
            if (line.find('=') != std::string_view::npos && is_line(line))
                lines += base::format("E: {}\n", report_.replacements.in(line));
        for (const std::string& attribute : attributes_)
            lines += attribute_line(real, attribute);
        lines += topology_lines(real);
        lines += part_lines(real, "");
        lines += part_lines(real, "gt/");
        lines += config_line(real);
        for (const std::string_view link : device_links)
            if (const auto target = base::read_link(AT_FDCWD, base::format("{}/{}", real, link)))
                if (is_line(*target) && !target->starts_with('/'))
                    lines += base::format("L: {}={}\n", link, *target);
        devices_.emplace(name, std::move(lines));
        return true;
    }

    std::string attribute_line(const std::string& device, const std::string& name)
    {
        struct stat status = {};
        const std::string path = base::format("{}/{}", device, name);
        if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
            return "";
        const std::string value = kernel_text(path, report_);
        if (value.empty() || value.size() > largest_attribute)
            return "";
        return base::format("A: {}={}\n", name,
                            escaped(identities_.contains(name) ? report_.replacements.serial(value)
                                                               : report_.replacements.in(value)));
    }

    /// Parts of a GPU, which are directories: "tile0", and "gt/gt0" of a card. One file of each is
    /// recorded, so that it is there.
    std::string part_lines(const std::string& device, const std::string& directory)
    {
        constexpr std::array files = {"physical_vram_size_bytes", "id", "name"};
        const auto names = base::list_directory(AT_FDCWD, device + "/" + directory, most_parts);
        std::string lines;
        if (!names)
            return lines;
        for (const std::string& name : *names) {
            const std::string path = directory + name;
            struct stat status = {};
            if ((!name.starts_with("tile") && !name.starts_with("gt"))
                || !std::isdigit(static_cast<unsigned char>(name.back()))
                || ::lstat(base::format("{}/{}", device, path).c_str(), &status) != 0
                || !S_ISDIR(status.st_mode))
                continue;
            std::string line;
            for (const char* file : files)
                if (line.empty())
                    line = attribute_line(device, base::format("{}/{}", path, file));
            lines += line.empty() ? base::format("A: {}/directory=\n", path) : line;
        }
        return lines;
    }

    /// Of a device that describes all of its kind in directories of numbers: "topology/nodes/1".
    std::string topology_lines(const std::string& device)
    {
        std::string lines = attribute_line(device, "topology/generation_id");
        const auto nodes = base::list_directory(AT_FDCWD, device + "/topology/nodes");
        if (nodes)
            for (const std::string& node : *nodes)
                for (const char* file : {"gpu_id", "name"})
                    lines +=
                        attribute_line(device, base::format("topology/nodes/{}/{}", node, file));
        if (nodes)
            for (const std::string& node : *nodes)
                lines +=
                    properties_line(device, base::format("topology/nodes/{}/properties", node));
        return lines;
    }

    std::string properties_line(const std::string& device, const std::string& name)
    {
        constexpr std::string_view identity = "unique_id ";
        std::string text;
        const std::string content = kernel_text(base::format("{}/{}", device, name), report_);
        for (const std::string_view line : base::split(content, '\n')) {
            if (line.starts_with(identity))
                text += base::format("{}{}\n", identity,
                                     report_.replacements.number(line.substr(identity.size())));
            else if (!line.empty())
                text += base::format("{}\n", line);
        }
        return text.empty() ? "" : base::format("A: {}={}\n", name, escaped(text));
    }

    /// The header of a function's configuration, if it is awake: reading wakes it otherwise.
    static std::string config_line(const std::string& device)
    {
        const auto power = base::read_file(device + "/power/runtime_status");
        if (!power || base::trim(*power) != "active")
            return "";
        const base::UniqueFd config(
            ::open((device + "/config").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        std::array<unsigned char, header_of_config> bytes = {};
        if (!config
            || ::pread(config.get(), bytes.data(), bytes.size(), 0) != ssize_t{header_of_config})
            return "";
        std::string line = "H: config=";
        for (const unsigned char byte : bytes)
            line += base::format("{:02X}", byte);
        return line + "\n";
    }

    const std::string& root_;
    Report& report_;
    std::vector<std::string> attributes_;
    std::set<std::string, std::less<>> identities_;
    std::map<std::string, std::string> devices_; ///< Lines by paths below /sys.
};

} // namespace

Classes classes_of(std::span<const drivers::Vendor> vendors)
{
    constexpr std::string_view directory = "/sys/class/";
    Classes classes;
    classes.whole = {"drm", "accel"};
    for (const std::string& place : places_of(vendors))
        if (place.starts_with(directory)) {
            const auto parts = base::split(std::string_view(place).substr(directory.size()), '/');
            if (parts.size() == 1)
                classes.whole.emplace(parts[0]);
            else
                classes.single.emplace(parts[0], parts[1]);
        }
    return classes;
}

void add_devices(const std::string& system_root, std::span<const drivers::Vendor> vendors,
                 const Classes& classes, const std::vector<std::string>& of_nodes, Report& report)
{
    Devices devices(system_root, vendors, report);
    devices.add_functions();
    devices.add_classes(classes);
    for (const std::string& node : of_nodes)
        devices.add_with_parents(node);
    report.members.insert_or_assign("sys.umockdev", devices.text());
}

} // namespace gpucontainer::capture
