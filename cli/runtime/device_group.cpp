// SPDX-License-Identifier: MIT
#include "runtime/device_group.hpp"

#include "output/format.hpp"
#include "runtime/container_process.hpp"

#include <fstream>
#include <string_view>
#include <utility>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

/// From lines such as "0::/a" and "5:devices:/a": the one that a runtime made, as both may decide.
std::string group_of(int pid)
{
    std::ifstream file(formatted("/proc/{}/cgroup", pid));
    std::string unified;
    std::string devices;
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        if (controllers.find(",devices,") != std::string::npos)
            devices = line.substr(second + 1);
        else if (controllers == ",,")
            unified = line.substr(second + 1);
    }
    return devices.empty() || devices == "/" ? unified : devices;
}

} // namespace

DeviceGroup::DeviceGroup(int pid, std::vector<std::string> bundles)
    : pidfd_(open_process(pid)), path_(group_of(pid)), bundles_(std::move(bundles))
{
}

void DeviceGroup::allow(const gpucontainer::Plan& plan, int rootfs_fd, const Note& note) const
{
    for (const std::string& bundle : bundles_) {
        try {
            plan.allow_devices(rootfs_fd, pidfd_.get(), bundle);
            return;
        } catch (const Error& error) {
            if (error.status() != GPUCTR_E_USAGE)
                throw;
            note(formatted("{}: {}", bundle, error.what()));
        }
    }
    plan.allow_devices(rootfs_fd, pidfd_.get(), "");
}

} // namespace gpuctr_cli
