// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_causes.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/nvidia/tegra.hpp"
#include "host/kernel_files.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fnmatch.h>
#include <optional>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::drivers::nvidia {

using model::Blocks;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

/// The control node of the GPU, which the kernel module nvgpu names, by kernels new and old.
constexpr const char* control_nodes = "nvgpu/igpu*/ctrl";
constexpr std::string_view old_control_node = "nvhost-ctrl-gpu";

/// The path of the control node according to the kernel; none if it has no such device.
Result<std::optional<std::string>> control_node(const std::string& system_root)
{
    constexpr std::size_t most_devices = 10'000;
    constexpr std::string_view field = "DEVNAME=";
    const std::string directory = system_root + "/sys/dev/char";
    const auto numbers = base::list_directory(AT_FDCWD, directory, most_devices);
    for (const std::string& number : numbers ? *numbers : std::vector<std::string>()) {
        GPUCTR_TRY(const auto event,
                   host::read_value(base::format("{}/{}/uevent", directory, number)));
        const std::string text = event.value_or("");
        for (const std::string_view line : base::split(text, '\n')) {
            if (!line.starts_with(field))
                continue;
            const std::string name(line.substr(field.size()));
            if (name == old_control_node
                || ::fnmatch(control_nodes, name.c_str(), FNM_PATHNAME) == 0)
                return std::optional("/dev/" + name);
        }
    }
    return std::optional<std::string>();
}

/// Whether the node is taken, or others say why not.
bool is_known(const DriverStack* driver, const std::string& path)
{
    const auto is_it = [&](const model::DeviceNode& node) { return node.path == path; };
    return driver != nullptr
           && (std::ranges::any_of(driver->nodes, is_it)
               || std::ranges::any_of(driver->missing_nodes, is_it));
}

} // namespace

Result<bool> add_tegra_causes(const Sources& sources, const DriverStack* driver,
                              model::Causes& causes)
{
    GPUCTR_TRY(const bool is_one, is_tegra(sources.system_root));
    if (!is_one)
        return false;
    GPUCTR_TRY(const auto path, control_node(sources.system_root));
    if (!path)
        return driver != nullptr && driver->optional_files;
    if (is_known(driver, *path))
        return true;
    const bool has_others = driver != nullptr && driver->whole_gpus() > 1;
    causes.push_back(
        {{FindingCode::node_missing, *path,
          "is missing: no program can use the GPU of the Tegra itself", sources.dev_root + *path,
          "the kernel module nvgpu has udev make it: load the module again; in a container, the "
          "nodes in /dev/nvgpu were not passed in"},
         Stage::host,
         has_others ? Blocks::some : Blocks::all});
    return true;
}

} // namespace gpucontainer::drivers::nvidia
