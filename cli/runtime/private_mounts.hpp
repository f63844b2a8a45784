// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <string>

namespace gpuctr_cli {

/// Mounts in this process's own mount namespace. They are made in a scratch tmpfs that no path
/// leads to, and then moved to their place, from descriptor to descriptor, with system calls that
/// every kernel has. A mount is represented by the descriptor of its root directory or file.
class PrivateMounts {
public:
    /// Needs the kernel's /proc. Throws gpucontainer::Error.
    PrivateMounts();
    PrivateMounts(const PrivateMounts&) = delete;
    PrivateMounts& operator=(const PrivateMounts&) = delete;
    ~PrivateMounts();

    /// Bind mounts a file or directory with all mounts below it. Returns no descriptor, and
    /// errno, on failure. Move the mount away before the next is made.
    Fd bind(const Fd& source) const;
    /// The same, read-only. Before Linux 5.12, or if a seccomp filter forbids mount_setattr,
    /// without the mounts below.
    Fd bind_read_only(const Fd& source) const;
    /// `label` is an SELinux label, or "". EINVAL if it is not valid.
    Fd new_tmpfs(const std::string& label) const;
    /// A new mount of a file system, as mount(2) makes it.
    Fd mount(const char* source, const char* type, unsigned long flags,
             const std::string& options) const;
    /// What is written to it goes into memory and ends with it; the rest is `lower`, without the
    /// mounts below.
    Fd writable_over(const Fd& lower, unsigned long flags, const std::string& label) const;

    /// Moves the mount that becomes the root directory to a directory of its own, so that the
    /// next mounts do not cover it. -1 and errno on failure.
    int keep(const Fd& mount) const;
    /// Call it when the scratch tmpfs is unmounted together with the old root directory.
    void forget() noexcept { scratch_ = Fd(); }

    /// -1 and errno on failure.
    static int move(const Fd& mount, const Fd& target);
    /// `target` must be on a mount of ours.
    static int bind_over(const std::string& source, const Fd& target);
    static int make_private(const Fd& mount);

private:
    Fd place(bool directory) const;
    Fd bind(const Fd& source, unsigned long flags) const;

    Fd scratch_;
};

} // namespace gpuctr_cli
