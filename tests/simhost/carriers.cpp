// SPDX-License-Identifier: MIT
#include "carriers.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mounts.hpp"
#include "sys_tree.hpp"

#include <algorithm>
#include <fcntl.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

bool exists(int dir_fd, const std::string& path)
{
    return ::faccessat(dir_fd, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/// Finds real directories that can play recorded ones.
class Carriers {
public:
    explicit Carriers(int machine_sys) : machine_sys_(machine_sys) {}

    /// Path below the machine's sysfs.
    Result<std::string> find(const SysDevice& device)
    {
        if (device.property("SUBSYSTEM") != "pci")
            return std::string("devices/virtual/mem/null"); // it has dev and no driver
        const bool has_driver = std::any_of(device.links.begin(), device.links.end(),
                                            [](const auto& link) { return link.name == "driver"; });
        std::optional<std::string>& found = has_driver ? driven_ : idle_;
        if (!found) {
            GPUCTR_TRY(auto path, find_pci(has_driver));
            found = std::move(path);
        }
        return *found;
    }

private:
    Result<std::string> find_pci(bool has_driver) const
    {
        const std::string directory = "bus/pci/devices";
        GPUCTR_TRY(const auto names, base::list_directory(machine_sys_, directory));
        for (const std::string& name : names) {
            GPUCTR_TRY(auto path, real_path(base::format("{}/{}", directory, name)));
            if (exists(machine_sys_, path + "/driver") == has_driver)
                return path;
        }
        return Error(Errc::requirement, base::format("the machine has no PCI device {} a driver",
                                                     has_driver ? "with" : "without"));
    }

    /// Where a link of /sys/bus leads to. The kernel must not walk it: its
    /// ".." would end in what is mounted over the machine's sysfs.
    Result<std::string> real_path(const std::string& link) const
    {
        GPUCTR_TRY(const auto target, base::read_link(machine_sys_, link));
        return target.substr(std::min(target.find("devices/"), target.size()));
    }

    int machine_sys_;
    std::optional<std::string> driven_;
    std::optional<std::string> idle_;
};

/// One dressed directory, taken away again unless it is kept.
class Dressed {
public:
    explicit Dressed(std::string path) : path_(std::move(path)) {}
    Dressed(Dressed&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Dressed& operator=(Dressed&&) = delete;
    ~Dressed()
    {
        if (!path_.empty())
            (void)detach_mount(path_);
    }
    void keep() { path_.clear(); }

private:
    std::string path_;
};

/// Mounts one made file or link over its counterpart in a dressed directory.
Result<void> cover(const std::string& made, int directory, const std::string& name)
{
    GPUCTR_TRY(const auto mount, clone_mount(AT_FDCWD, made));
    return attach_mount(mount.get(), directory, name);
}

Result<Dressed> dress(const SysDevice& device, const base::UniqueFd& carrier, Tree& tree,
                      const std::string& tree_path)
{
    const std::string target = "/sys" + device.path;
    GPUCTR_CHECK(attach_mount(carrier.get(), AT_FDCWD, target));
    Dressed dressed(target);
    const int directory = carrier.get(); // attached, the descriptor is that mount

    const DeviceFiles all = files_of(device);
    for (const NamedText& file : all.files) {
        if (!exists(directory, file.name))
            continue;
        const auto same = base::read_file(directory, file.name);
        if (same && *same == file.text)
            continue;
        GPUCTR_CHECK(tree.file(device.path + "/" + file.name, file.text, 0444));
        GPUCTR_CHECK(cover(tree_path + device.path + "/" + file.name, directory, file.name));
    }
    for (const NamedText& link : all.links) {
        const auto same = base::read_link(directory, link.name);
        if (same && *same == link.text)
            continue;
        GPUCTR_CHECK(tree.link(device.path + "/" + link.name, link.text));
        GPUCTR_CHECK(cover(tree_path + device.path + "/" + link.name, directory, link.name));
    }
    return dressed;
}

} // namespace

Result<void> dress_carriers(const Recording& host, int machine_sys, Tree& tree,
                            const std::string& tree_path)
{
    if (has_nested_devices(host.devices))
        return Error(Errc::requirement, "one recorded device lies inside of another one");
    Carriers carriers(machine_sys);
    std::vector<Dressed> dressed;
    for (const SysDevice& device : host.devices) {
        GPUCTR_TRY(const auto path, carriers.find(device), "{}", device.path);
        GPUCTR_TRY(const auto carrier, clone_mount(machine_sys, path), "{}", device.path);
        GPUCTR_TRY(auto done, dress(device, carrier, tree, tree_path), "{}", device.path);
        dressed.push_back(std::move(done));
    }
    for (Dressed& device : dressed)
        device.keep();
    return {};
}

} // namespace gpucontainer::simhost
