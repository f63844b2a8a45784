// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <functional>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// The device cgroup of a container's process, as it is before namespaces are joined: a runtime
/// allows a container the devices of its configuration alone.
class DeviceGroup {
public:
    using Note = std::function<void(const std::string& what)>;

    /// `bundles` are directories that may have the runtime's configuration. Throws
    /// gpucontainer::Error: that of open_process().
    DeviceGroup(int pid, std::vector<std::string> bundles);

    /// Lets the container use the plan's devices. The first bundle that is of this container
    /// counts; `note` hears of the others. Throws gpucontainer::Error: permission, requirement.
    void allow(const gpucontainer::Plan& plan, int rootfs_fd, const Note& note) const;

    /// For messages: the path of the group; "" if it is not known.
    const std::string& path() const noexcept { return path_; }

private:
    Fd pidfd_;
    std::string path_;
    std::vector<std::string> bundles_;
};

} // namespace gpuctr_cli
