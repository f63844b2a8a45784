// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"
#include "image/squashfuse.hpp"
#include "runtime/private_mounts.hpp"

#include <optional>
#include <string>

namespace gpuctr_cli {

/// How an image file is mounted in namespaces of this process.
struct ImageOptions {
    bool allow_setuid = false; ///< Setuid programs of the image keep their privileges.
    std::string label;         ///< SELinux label of the file system, or "".
};

/// An image file that becomes the root directory of a container: mounted by the kernel if this
/// process may use loop devices, and else by squashfuse, as this user.
class ImageRoot {
public:
    /// Call it before private namespaces are entered: squashfuse stays outside of them. Throws
    /// gpucontainer::Error; requirement if it shall be `writable` and cannot be.
    ImageRoot(const ImageFile& image, bool writable);

    /// Mounts it in the place of `mounts`, read-only. Throws gpucontainer::Error.
    Fd mount(const PrivateMounts& mounts, const ImageOptions& options);

private:
    Fd mount_by_kernel(const PrivateMounts& mounts, const ImageOptions& options) const;
    Fd mount_by_squashfuse(const PrivateMounts& mounts, const ImageOptions& options);

    const ImageFile& image_;
    std::optional<Squashfuse> squashfuse_;
};

} // namespace gpuctr_cli
