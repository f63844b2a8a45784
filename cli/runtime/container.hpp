// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"
#include "runtime/private_mounts.hpp"

#include <string>

namespace gpuctr_cli {

/// Gives this process a mount namespace of its own, and a user namespace where
/// its privileges do not suffice for that; ids stay what they are. What is
/// mounted in it shows nowhere else. Throws gpucontainer::Error: permission.
void enter_private_namespaces();

/// Only the mount namespace, for those who may. Throws: permission.
void enter_private_mount_namespace();

/// A directory that becomes the root of this process. Mounts go onto
/// descriptors that were resolved in it, so that its links lead nowhere else.
/// Everything throws gpucontainer::Error.
class Container {
public:
    /// A private bind of the working directory with all that is mounted below it, kept
    /// where paths do not lead; `name` is what messages call it.
    explicit Container(std::string name);

    int fd() const noexcept { return root_.get(); }

    /// The host's /proc and /sys.
    void mount_kernel_file_systems() const;
    /// A /dev of its own, with the devices that every program expects and the SELinux
    /// label, unless that is empty.
    void mount_devices(const std::string& label) const;
    /// "SRC[:DST[:ro]]"; the target has to be there.
    void bind(const std::string& specification) const;
    /// Makes it the root and forgets the host's.
    void enter(const std::string& working_directory);

private:
    /// None, and errno, where there is nothing to be reached in the root.
    Fd open(const std::string& path, int flags) const;
    void attach(const Fd& mount, const std::string& target) const;

    PrivateMounts mounts_;
    std::string name_;
    Fd root_;
};

} // namespace gpuctr_cli
