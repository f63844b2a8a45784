// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"
#include "process/descriptor.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// A container's root directory. Owns its descriptors.
class RootDirectory {
public:
    /// Throws gpucontainer::Error: rootfs, permission.
    static RootDirectory at(const std::string& path);
    /// Must be one of a policy's `directories` or below. Throws: permission, rootfs.
    static RootDirectory below(const std::vector<std::string>& directories,
                               const std::string& path);
    /// Opens the directory anew; `fd` is no longer inherited by CMD. Throws: usage, rootfs.
    static RootDirectory from_descriptor(int fd);
    /// Root of a process. If the caller is not root, this process joins the user namespace of
    /// that one, with a mount namespace of its own, to get privileges there. Throws: rootfs,
    /// permission, usage.
    static RootDirectory of_process(int pid);

    /// Root file system of an image, which can only be read.
    static RootDirectory of_image(ImageFile image);

    bool is_image() const noexcept { return is_image_; }
    int fd() const noexcept { return directory_.get(); }
    /// For messages.
    const std::string& name() const noexcept { return name_; }

    /// The process whose root it is; -1 for another root.
    int process() const noexcept { return process_.get(); }

    /// Sets the process in the options of apply, undo or status, if this is the root of one.
    template <typename Options>
    void set_process(Options& options) const noexcept
    {
        options.pidfd = process_.get();
    }

private:
    RootDirectory(std::string name, Fd directory)
        : name_(std::move(name)), directory_(std::move(directory))
    {
    }

    std::string name_;
    Fd directory_;
    Fd process_;
    bool is_image_ = false;
};

} // namespace gpuctr_cli
