// SPDX-License-Identifier: MIT
#include "capture/nodes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t most_nodes = 4096;
constexpr int deepest_of_nodes = 3;
constexpr unsigned last_standard_major = 9; // memory, terminals, and their like

/// Directories of /dev that have no node of an accelerator.
constexpr std::array other_directories = {"pts",          "shm",    "mqueue", "hugepages", "block",
                                          "char",         "disk",   "mapper", "input",     "bus",
                                          "snd",          "net",    "cpu",    "fd",        "bsg",
                                          "virtio-ports", "serial", "usb",    "mtd",       "md"};
/// Names in /dev itself that every machine has.
constexpr std::array other_names = {"fuse", "kmsg",   "console",      "ptmx",         "tty", "full",
                                    "null", "zero",   "random",       "urandom",      "mem", "port",
                                    "kvm",  "autofs", "loop-control", "btrfs-control"};
/// Subsystems of which a machine has nodes in /dev itself.
constexpr std::array other_subsystems = {
    "mem",     "tty",      "misc",    "vc",           "vtconsole", "input",        "hidraw",
    "rtc",     "usb",      "usbmisc", "usbmon",       "sound",     "ppp",          "tun",
    "ptp",     "ipmi",     "bsg",     "scsi_generic", "nvme",      "nvme-generic", "nvme-subsystem",
    "i2c-dev", "watchdog", "pps",     "cpuid",        "msr",       "virtio-ports", "tpm",
    "tpmrm",   "hpet",     "media",   "video4linux",  "cec",       "gpio",         "spidev",
    "rfkill",  "udmabuf"};

bool is_among(const auto& names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

bool is_printable_word(std::string_view text)
{
    return !text.empty()
           && std::ranges::none_of(text, [](char c) { return base::is_control(c) || c == ' '; });
}

class Walk {
public:
    Walk(const std::string& system_root, const Classes& classes, Report& report)
        : root_(system_root), classes_(classes), report_(report)
    {
    }

    void directory(const std::string& path, int depth)
    {
        const auto names = base::list_directory(AT_FDCWD, root_ + path);
        if (!names) {
            if (names.error().os_error() != ENOENT)
                report_.unread.emplace_back(path, names.error().cause());
            return;
        }
        for (const std::string& name : *names)
            if (is_printable_word(name))
                entry(path, name, depth);
    }

    std::string text;
    std::vector<std::string> devices;

private:
    void entry(const std::string& directory_path, const std::string& name, int depth)
    {
        const std::string path = base::format("{}/{}", directory_path, name);
        struct stat status = {};
        if (count_ >= most_nodes || ::lstat((root_ + path).c_str(), &status) != 0)
            return;
        if (S_ISDIR(status.st_mode)) {
            if (depth < deepest_of_nodes && !(depth == 1 && is_among(other_directories, name)))
                directory(path, depth + 1);
        } else if (S_ISLNK(status.st_mode)) {
            link(path, depth, status);
        } else if (S_ISCHR(status.st_mode) && !(depth == 1 && is_among(other_names, name))
                   && is_wanted(depth, status)) {
            line(path, base::format("c {}:{}", major(status.st_rdev), minor(status.st_rdev)),
                 status, "");
            if (!device_.empty())
                devices.push_back(device_);
        }
    }

    /// Links in /dev itself are those of every machine, but for those to nodes that are wanted, or
    /// to no device on purpose.
    void link(const std::string& path, int depth, const struct stat& status)
    {
        const auto target = base::read_link(AT_FDCWD, root_ + path);
        struct stat end = {};
        if (!target || !is_printable_word(*target))
            return;
        const bool leads = ::stat((root_ + path).c_str(), &end) == 0;
        const bool to_nothing = base::name_of(*target) == "null" && leads;
        if (depth == 1 && !to_nothing ? leads && S_ISCHR(end.st_mode) && is_wanted(1, end)
                                      : !leads || S_ISCHR(end.st_mode))
            line(path, "l -", status, *target);
        if (leads && depth == 1 && to_nothing)
            devices.push_back(device_place(end));
    }

    std::string device_place(const struct stat& status) const
    {
        return base::format("{}/sys/dev/char/{}:{}", root_, major(status.st_rdev),
                            minor(status.st_rdev));
    }

    /// Also sets `device_`, the directory of sysfs; "" if there is none.
    bool is_wanted(int depth, const struct stat& status)
    {
        device_.clear();
        const std::string place = device_place(status);
        const auto target = base::read_link(AT_FDCWD, place);
        if (!target)
            return major(status.st_rdev) > last_standard_major;
        const auto subsystem = base::read_link(AT_FDCWD, place + "/subsystem");
        const std::string name(subsystem ? base::name_of(*subsystem) : std::string_view());
        const bool is_known = classes_.has(name, std::string(base::name_of(*target)));
        if (!is_known && (is_among(other_subsystems, name) && (depth == 1 || name != "misc")))
            return false;
        device_ = place;
        return true;
    }

    void line(const std::string& path, const std::string& what, const struct stat& status,
              const std::string& target)
    {
        ++count_;
        text += base::format("{} {} {:04o} {} {}{}{}\n", path, what, status.st_mode & 07777U,
                             status.st_uid, status.st_gid, target.empty() ? "" : " -> ", target);
    }

    const std::string& root_;
    const Classes& classes_;
    Report& report_;
    std::string device_;
    std::size_t count_ = 0;
};

} // namespace

std::vector<std::string> add_nodes(const std::string& system_root, const Classes& classes,
                                   Report& report)
{
    Walk walk(system_root, classes, report);
    walk.directory("/dev", 1);
    report.add("dev.txt",
               "# path kind major:minor mode uid gid [-> target]\n" + std::move(walk.text));
    return std::move(walk.devices);
}

} // namespace gpucontainer::capture
