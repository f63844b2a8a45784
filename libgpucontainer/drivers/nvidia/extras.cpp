// SPDX-License-Identifier: MIT
#include "drivers/nvidia/extras.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"
#include "host/node_access.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::drivers::nvidia {

using model::Capability;
using model::SharedPath;

namespace {

constexpr std::size_t most_names_in_dev = 10'000;
constexpr std::size_t most_extra_nodes = 2048;
constexpr const char* gds = "gds";

/// Nodes of one kernel driver with such names.
struct NodeKind {
    std::string_view extra;
    std::string_view directory;
    std::string_view name; ///< With "#" for a number, which is the minor number.
    /// In /proc/devices. "": it is a device of the driver "misc".
    std::string_view driver;
};

constexpr std::array node_kinds = {
    NodeKind{gds, "/dev", "nvidia-fs#", "nvidia-fs"},
    NodeKind{"gdrcopy", "/dev", "gdrdrv", "gdrdrv"},
    NodeKind{"nvswitch", "/dev", "nvidia-nvswitchctl", "nvidia-nvswitch"},
    NodeKind{"nvswitch", "/dev", "nvidia-nvswitch#", "nvidia-nvswitch"},
    NodeKind{"nvswitch", "/dev", "nvidia-nvlink", "nvidia-nvlink"},
    NodeKind{"mofed", "/dev/infiniband", "uverbs#", "infiniband_verbs"},
    NodeKind{"mofed", "/dev/infiniband", "rdma_cm", ""},
    NodeKind{"imex-channel:#", "/dev/nvidia-caps-imex-channels", "channel#",
             "nvidia-caps-imex-channels"},
};

/// The number in a name of this kind; "" if it is none or has none.
std::string_view number_in(const NodeKind& kind, std::string_view name)
{
    const std::string_view before = kind.name.substr(0, kind.name.find('#'));
    if (!name.starts_with(before))
        return "";
    const std::string_view number = name.substr(before.size());
    return number.find_first_not_of("0123456789") == std::string_view::npos ? number : "";
}

bool is_of_kind(const NodeKind& kind, std::string_view name)
{
    return kind.name.ends_with('#') ? !number_in(kind, name).empty() : name == kind.name;
}

std::string extra_of(const NodeKind& kind, std::string_view name)
{
    if (!kind.extra.ends_with('#'))
        return std::string(kind.extra);
    return base::format("{}{}", kind.extra.substr(0, kind.extra.size() - 1), number_in(kind, name));
}

class ExtraNodes {
public:
    ExtraNodes(const std::string& system_root, const std::string& dev_root, search::Nodes& found,
               model::Findings& findings)
        : system_root_(system_root), dev_root_(dev_root), found_(found), findings_(findings)
    {
    }

    Result<void> run()
    {
        const auto devices = base::read_file(system_root_ + "/proc/devices");
        devices_ = devices ? *devices : "";
        std::string_view listed;
        std::vector<std::string> names;
        for (const NodeKind& kind : node_kinds) {
            if (listed != kind.directory)
                names = names_in(kind.directory);
            listed = kind.directory;
            for (const std::string& name : names)
                if (is_of_kind(kind, name) && count_ < most_extra_nodes)
                    GPUCTR_CHECK(add(kind, name));
        }
        return {};
    }

private:
    /// Of a directory that cannot be read, nothing is known; who asks for such a node is told.
    std::vector<std::string> names_in(std::string_view directory) const
    {
        auto names = base::list_directory(
            AT_FDCWD, base::format("{}{}{}", system_root_, dev_root_, directory),
            most_names_in_dev);
        return names ? *std::move(names) : std::vector<std::string>();
    }

    Result<void> add(const NodeKind& kind, const std::string& name)
    {
        search::WantedNode wanted;
        wanted.path = base::format("{}/{}", kind.directory, name);
        wanted.extra = extra_of(kind, name);
        wanted.required = false;
        struct stat status = {};
        const std::string path = base::format("{}{}{}", system_root_, dev_root_, wanted.path);
        if (::lstat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode))
            return {};
        GPUCTR_TRY(wanted.major, major_of(kind, wanted.path, status.st_rdev));
        const auto number = base::to_number(number_in(kind, name));
        wanted.minor = kind.extra.ends_with('#') && number && *number <= UINT32_MAX
                           ? static_cast<unsigned>(*number)
                           : minor(status.st_rdev);
        ++count_;
        return search::add_node(system_root_, dev_root_, wanted, found_, findings_);
    }

    /// The number that the kernel has for the driver; that of the node, if it is one of several.
    /// None if the driver is not loaded.
    Result<std::optional<unsigned>> major_of(const NodeKind& kind, std::string_view path,
                                             dev_t node) const
    {
        if (kind.driver.empty()) {
            GPUCTR_TRY(const bool is_its, is_named(path, node));
            return is_its ? std::optional(major(node)) : std::nullopt;
        }
        std::optional<unsigned> found;
        for (const unsigned number : search::character_majors(devices_, kind.driver))
            if (!found || number == major(node))
                found = number;
        return found;
    }

    /// Whether the kernel calls this device so.
    Result<bool> is_named(std::string_view path, dev_t number) const
    {
        GPUCTR_TRY(const auto event,
                   host::read_value(base::format("{}/sys/dev/char/{}:{}/uevent", system_root_,
                                                 major(number), minor(number))));
        constexpr std::string_view dev = "/dev/";
        const std::string line = base::format("DEVNAME={}", path.substr(dev.size()));
        const std::string text = event.value_or("");
        const auto lines = base::split(text, '\n');
        return std::ranges::find(lines, line) != lines.end();
    }

    const std::string& system_root_;
    const std::string& dev_root_;
    search::Nodes& found_;
    model::Findings& findings_;
    std::string devices_;
    std::size_t count_ = 0;
};

struct SharedPlace {
    const char* path;
    SharedPath::Kind kind;
    Capability capability;
    std::string_view extra;
    std::string_view reason;
};

constexpr std::array shared_places = {
    SharedPlace{"/run/nvidia-persistenced/socket", SharedPath::Kind::socket, Capability::utility,
                "persistenced", "nvidia-smi asks nvidia-persistenced by it"},
    SharedPlace{mps_directory.place.data(), SharedPath::Kind::directory, mps_directory.capability,
                mps_directory.extra, mps_directory.reason},
    SharedPlace{"/run/nvidia-fabricmanager/socket", SharedPath::Kind::socket, Capability::none,
                "fabric-manager",
                "programs that manage NVLink partitions ask the fabric manager by it"},
    SharedPlace{"/etc/cufile.json", SharedPath::Kind::file, Capability::none, gds,
                "the settings of GPUDirect Storage"},
    SharedPlace{"/run/udev", SharedPath::Kind::directory, Capability::none, gds,
                "GPUDirect Storage looks up disks in it"},
};

bool is_its_kind(SharedPath::Kind kind, mode_t mode)
{
    switch (kind) {
    case SharedPath::Kind::socket:
        return S_ISSOCK(mode);
    case SharedPath::Kind::file:
        return S_ISREG(mode);
    case SharedPath::Kind::directory:
        break;
    }
    return S_ISDIR(mode);
}

} // namespace

Result<void> add_extra_nodes(const std::string& system_root, const std::string& dev_root,
                             search::Nodes& found, model::Findings& findings)
{
    return ExtraNodes(system_root, dev_root, found, findings).run();
}

std::vector<SharedPath> shared_paths(const std::string& system_root,
                                     const std::vector<model::DeviceNode>& nodes,
                                     model::Findings& findings)
{
    const bool has_gds = std::ranges::find(nodes, gds, &model::DeviceNode::extra) != nodes.end();
    std::vector<SharedPath> found;
    for (const SharedPlace& place : shared_places) {
        struct stat status = {};
        const std::string path = system_root + place.path;
        if ((place.extra == gds && !has_gds) || ::lstat(path.c_str(), &status) != 0
            || !is_its_kind(place.kind, status.st_mode))
            continue;
        const auto leave_out = [&](std::string why) {
            findings.push_back(
                {model::FindingCode::file_unusable, place.path, std::move(why), place.path});
        };
        if (host::is_anybodys(path, status.st_uid)) {
            leave_out(base::format("belongs to user {}, in a directory that others may write",
                                   status.st_uid));
            continue;
        }
        const int use = place.kind == SharedPath::Kind::socket ? W_OK : R_OK;
        const bool accessible = ::faccessat(AT_FDCWD, path.c_str(), use, AT_EACCESS) == 0;
        if (!accessible)
            leave_out(Error::from_errno(errno, "may not be used").message());
        found.push_back({place.path, place.kind, place.capability, std::string(place.extra),
                         status.st_uid, accessible, std::string(place.reason)});
    }
    return found;
}

} // namespace gpucontainer::drivers::nvidia
