// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"
#include "runtime/image_root.hpp"
#include "runtime/private_mounts.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// Moves this process into a mount namespace of its own. If it lacks the privileges for that, also
/// into a user namespace, in which its ids stay the same. Mounts made there show nowhere else.
/// Throws gpucontainer::Error: permission.
void enter_private_namespaces();

/// Only the mount namespace, for a process with the privileges. Throws: permission.
void enter_private_mount_namespace();

/// What "SRC[:DST[:ro]]" says.
struct Bind {
    std::string source;
    std::string target;
    bool read_only;
};
/// Throws: usage.
Bind parse_bind(const std::string& specification);

/// A directory that becomes the root of this process. Paths are resolved in it to descriptors,
/// onto which mounts go, so that its links cannot lead out. Everything throws
/// gpucontainer::Error.
class Container {
public:
    /// Bind mounts the working directory with all mounts below it, privately and in a place that
    /// no path leads to. `name` is for messages.
    explicit Container(std::string name);
    /// Mounts an image file, at such a place. With `writable`, what is written into it goes into
    /// memory and ends with the container.
    Container(std::string name, ImageRoot& image, const ImageOptions& options, bool writable);

    int fd() const noexcept { return root_.get(); }

    /// The host's /proc and /sys.
    void mount_kernel_file_systems() const;
    /// A /dev of its own, with the devices that every program expects. `label` is an SELinux
    /// label; "": none.
    void mount_devices(const std::string& label);
    /// The directories of the host's /dev that others write too, such as /dev/shm. Names that are
    /// made before do not get there, whatever links the image has.
    void share_directories();
    /// As in parse_bind(); the target must exist.
    void bind(const std::string& specification) const;
    /// Makes it the root directory and unmounts the host's.
    void enter(const std::string& working_directory);

private:
    void set_apart();
    /// No descriptor, and errno, if the path cannot be opened in the root.
    Fd open(const std::string& path, int flags) const;
    void attach(const Fd& mount, const std::string& target) const;

    PrivateMounts mounts_;
    std::string name_;
    Fd root_;
    std::vector<std::pair<std::string, Fd>> shared_directories_; ///< With their places.
};

} // namespace gpuctr_cli
