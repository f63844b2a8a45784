// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// A container's root directory, however it was named. Owns its descriptors.
class RootDirectory {
public:
    /// Throws gpucontainer::Error: rootfs, permission.
    static RootDirectory at(const std::string& path);
    /// The same below one of a policy's directories. Throws: permission, rootfs.
    static RootDirectory below(const std::vector<std::string>& directories,
                               const std::string& path);
    /// The descriptor is duplicated, and not inherited any more. Throws: usage,
    /// rootfs.
    static RootDirectory from_descriptor(int fd);
    /// Root of a process. An ordinary user's process joins the user namespace of
    /// it, with a mount namespace of its own, to have the privileges that count
    /// there. Throws: rootfs, permission, usage.
    static RootDirectory of_process(int pid);

    int fd() const noexcept { return directory_.get(); }
    /// For messages.
    const std::string& name() const noexcept { return name_; }

    /// Says in the options of apply, undo or status which process it is the root of, if any.
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
};

} // namespace gpuctr_cli
