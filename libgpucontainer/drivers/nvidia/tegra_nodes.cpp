// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_nodes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/kernel_files.hpp"
#include "search/path_pattern.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fnmatch.h>
#include <optional>
#include <set>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

namespace gpucontainer::drivers::nvidia {

using model::Capability;
using search::Nodes;

namespace {

constexpr std::size_t most_nodes = 1024;
constexpr std::size_t most_names = 10'000;
constexpr std::string_view dev = "/dev/";

/// Nodes of Linux for Tegra since release 32. Each release has some of them.
constexpr std::array known_nodes = {
    "/dev/nvhost-*",     "/dev/nvgpu/igpu*/*", "/dev/nvmap",
    "/dev/nvidia0",      "/dev/nvidiactl",     "/dev/nvidia-modeset",
    "/dev/host1x-fence", "/dev/nvsciipc",      "/dev/tegra_dc_ctrl",
    "/dev/tegra_dc_?",   "/dev/tegra-crypto",  "/dev/v4l2-nvdec",
    "/dev/v4l2-nvenc",   "/dev/fb?",           "/dev/dri/card*",
    "/dev/dri/renderD*", "/dev/dma_heap/*",
};

struct Use {
    std::string_view pattern;
    Capability capability;
};

/// What nodes are for that not every program opens. The first matching pattern counts.
constexpr std::array uses = {
    Use{"/dev/nvhost-nvdec*", Capability::video},    Use{"/dev/nvhost-nvenc*", Capability::video},
    Use{"/dev/nvhost-msenc", Capability::video},     Use{"/dev/nvhost-nvjpg*", Capability::video},
    Use{"/dev/nvhost-vic", Capability::video},       Use{"/dev/v4l2-nv*", Capability::video},
    Use{"/dev/dri/*", Capability::graphics},         Use{"/dev/tegra_dc_*", Capability::display},
    Use{"/dev/nvidia-modeset", Capability::display}, Use{"/dev/fb*", Capability::display},
};

/// Nodes that CUDA needs, if a release has them.
constexpr std::array gpu_nodes = {
    "/dev/nvhost-gpu",       "/dev/nvhost-ctrl-gpu", "/dev/nvhost-as-gpu",
    "/dev/nvgpu/igpu*/ctrl", "/dev/nvgpu/igpu*/as",  "/dev/nvgpu/igpu*/channel",
};
/// JetPack 7 calls the directory igpu-ADDRESS, which lists of NVIDIA's packages lack.
constexpr const char* nodes_of_gpu = "/dev/nvgpu/igpu*/*";
constexpr std::string_view memory_node = "/dev/nvmap";

bool matches(const char* pattern, const std::string& path)
{
    return ::fnmatch(pattern, path.c_str(), FNM_PATHNAME) == 0;
}

Capability use_of_node(const std::string& path)
{
    const auto use = std::ranges::find_if(
        uses, [&](const Use& one) { return matches(one.pattern.data(), path); });
    return use == uses.end() ? Capability::none : use->capability;
}

bool is_of_gpu(const std::string& path)
{
    return std::ranges::any_of(gpu_nodes,
                               [&](const char* pattern) { return matches(pattern, path); });
}

class NodeSearch {
public:
    NodeSearch(const std::string& system_root, const std::string& dev_root, unsigned gpu,
               model::Findings& findings)
        : system_root_(system_root), dev_root_(dev_root), gpu_(static_cast<int>(gpu)),
          findings_(findings)
    {
    }

    Result<Nodes> run(std::span<const std::string> paths)
    {
        GPUCTR_TRY(const auto devices, host::read_value(system_root_ + "/proc/devices"));
        devices_ = devices.value_or("");
        for (const std::string& path : paths)
            GPUCTR_CHECK(add_matching(path, true));
        if (paths.empty())
            for (const char* path : known_nodes)
                GPUCTR_CHECK(add_matching(path, false));
        if (!has_gpu_node())
            GPUCTR_CHECK(add_matching(nodes_of_gpu, false));
        if (!has_gpu_node())
            return Error(Errc::no_device, "the Tegra's GPU has no device node")
                .with_hint(
                    "look for nvgpu in the kernel's log: this kernel module makes the nodes");
        return std::move(found_);
    }

private:
    bool has_gpu_node() const
    {
        return std::ranges::any_of(found_.nodes, is_of_gpu, &model::DeviceNode::path);
    }

    Result<void> add_matching(const std::string& pattern, bool is_listed)
    {
        Result<void> listed;
        const auto list = [&](const std::string& directory) {
            auto names = base::list_directory(
                AT_FDCWD, base::format("{}{}{}", system_root_, dev_root_, directory), most_names);
            if (!names && base::leaves_open(names.error().os_error()))
                listed = Error::from_errno(names.error().os_error(), dev_root_ + directory,
                                           Errc::driver);
            return names ? *std::move(names) : std::vector<std::string>();
        };
        const bool one = !search::is_pattern(pattern);
        auto paths = search::expand_pattern(pattern, list, most_nodes);
        GPUCTR_CHECK(std::move(listed));
        if (paths.empty() && is_listed)
            skip(pattern, "not installed");
        for (const std::string& path : paths)
            GPUCTR_CHECK(add(path, one && is_listed));
        return {};
    }

    Result<void> add(const std::string& path, bool is_missed)
    {
        if (seen_.size() >= most_nodes || !seen_.insert(path).second)
            return {};
        const std::string place = place_of(path);
        struct stat status = {};
        const bool seen =
            ::fstatat(AT_FDCWD, (system_root_ + place).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
        if (!seen && base::leaves_open(errno))
            return Error::from_errno(errno, dev_root_ + path, Errc::driver)
                .with_object(dev_root_ + path);
        if (!seen || !S_ISCHR(status.st_mode)) {
            if (seen || is_missed)
                skip(path, seen ? "not a character device" : "not installed");
            return {};
        }
        GPUCTR_TRY(const bool is_known, is_named(status.st_rdev, place.substr(dev_root_.size())));
        if (!is_known) {
            skip(path, base::format("the kernel has another name for the device {}:{}, or none",
                                    major(status.st_rdev), minor(status.st_rdev)));
            return {};
        }
        return search::add_node(system_root_, dev_root_, wanted(path, place, status.st_rdev),
                                found_, findings_);
    }

    /// The path of the node that a name leads to. Some names are links to a node in /dev; a
    /// container gets that node at the link's path. A link out of /dev is not followed.
    std::string place_of(const std::string& path) const
    {
        namespace fs = std::filesystem;
        std::string place = dev_root_ + path;
        const auto target = base::read_link(AT_FDCWD, system_root_ + place);
        if (!target)
            return place;
        const std::string to = (fs::path(path).parent_path() / *target).lexically_normal().string();
        return to.starts_with(dev) ? dev_root_ + to : place;
    }

    /// Whether the kernel calls the device so. NVIDIA's own modules name no devices; for them,
    /// whether the device is one of theirs.
    Result<bool> is_named(dev_t number, std::string_view path) const
    {
        GPUCTR_TRY(const auto event,
                   host::read_value(base::format("{}/sys/dev/char/{}:{}/uevent", system_root_,
                                                 major(number), minor(number))));
        if (!event)
            return base::name_of(path).starts_with("nvidia") && is_of_nvidia(major(number));
        constexpr std::string_view field = "DEVNAME=";
        return std::ranges::any_of(base::split(*event, '\n'), [&](std::string_view line) {
            return line.starts_with(field) && line.substr(field.size()) == path.substr(dev.size());
        });
    }

    bool is_of_nvidia(unsigned number) const
    {
        constexpr std::array drivers = {"nvidia", "nvidia-frontend", "nvidiactl", "nvidia-modeset",
                                        "nvidia-uvm"};
        return std::ranges::any_of(drivers, [&](const char* driver) {
            return search::character_major(devices_, driver) == number;
        });
    }

    search::WantedNode wanted(const std::string& path, const std::string& place, dev_t number) const
    {
        search::WantedNode node;
        node.path = path;
        node.host_path = place;
        node.major = major(number);
        node.minor = minor(number);
        node.required = is_of_gpu(path) || path == memory_node;
        node.gpu = node.required ? gpu_ : -1;
        node.capability = use_of_node(path);
        return node;
    }

    void skip(const std::string& path, std::string reason)
    {
        findings_.push_back({model::FindingCode::node_missing, std::string(base::name_of(path)),
                             std::move(reason), dev_root_ + path});
    }

    const std::string& system_root_;
    const std::string& dev_root_;
    int gpu_;
    model::Findings& findings_;
    std::string devices_;
    std::set<std::string> seen_;
    Nodes found_;
};

} // namespace

Result<Nodes> tegra_nodes(const std::string& system_root, const std::string& dev_root,
                          std::span<const std::string> paths, unsigned gpu,
                          model::Findings& findings)
{
    return NodeSearch(system_root, dev_root, gpu, findings).run(paths);
}

Result<std::optional<std::string>> name_of_tegra_gpu(const std::string& system_root,
                                                     const std::string& dev_root)
{
    constexpr std::string_view start = "igpu";
    const std::string directory = dev_root + "/dev/nvgpu";
    const auto names = base::list_directory(AT_FDCWD, system_root + directory, most_names);
    if (!names && base::leaves_open(names.error().os_error()))
        return Error::from_errno(names.error().os_error(), directory, Errc::driver)
            .with_object(directory);
    std::optional<std::string> found;
    for (const std::string& name : names ? *names : std::vector<std::string>())
        if (name.starts_with(start) && (!found || name < *found))
            found = name;
    return found;
}

} // namespace gpucontainer::drivers::nvidia
