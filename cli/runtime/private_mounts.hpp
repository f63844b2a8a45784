// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <string>

namespace gpuctr_cli {

/// Mounts of a mount namespace that is this process's own, made where nothing else
/// looks and then moved to where they belong: with calls that every kernel has, and
/// from descriptor to descriptor. A mount is the descriptor of its root directory or
/// file. What throws, throws gpucontainer::Error.
class PrivateMounts {
public:
    /// Needs /proc, and that it is the kernel's.
    PrivateMounts();
    PrivateMounts(const PrivateMounts&) = delete;
    PrivateMounts& operator=(const PrivateMounts&) = delete;
    ~PrivateMounts();

    /// The file or directory with all that is mounted below it; without a descriptor,
    /// and errno, when it cannot be. One at a time: it has to be moved before the next.
    Fd bind(const Fd& source) const;
    /// Same, and nobody can write there. Before Linux 5.12, and where a seccomp filter
    /// forbids mount_setattr, without what is mounted below.
    Fd bind_read_only(const Fd& source) const;
    /// `label` is SELinux's, or ""; EINVAL when there is no such one.
    Fd new_tmpfs(const std::string& label) const;

    /// Keeps a mount that is to be the root directory out of the way of others. What
    /// covers the root directory itself, in front of this, could not be reached.
    int keep(const Fd& mount) const;
    /// No more of them: for who has left the root directory behind.
    void forget() noexcept { scratch_ = Fd(); }

    /// -1 and errno on failure.
    static int move(const Fd& mount, const Fd& target);
    /// Over a file or directory that is on a mount of ours.
    static int bind_over(const std::string& source, const Fd& target);
    static int make_private(const Fd& mount);

private:
    Fd place(bool directory) const;
    Fd bind(const Fd& source, unsigned long flags) const;

    Fd scratch_;
};

} // namespace gpuctr_cli
