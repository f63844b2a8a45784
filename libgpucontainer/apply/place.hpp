// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "mount/table.hpp"

namespace gpucontainer::apply {

/// The mount below which a plan is attached: the root's own if it is private, otherwise a private
/// bind mount of the root on itself.
class Place {
public:
    /// For the root of a running process, which would not see a bind mount over its root. `table`
    /// is its mount table.
    static Result<Place> of_process(const mount::Bench& bench, int rootfs_fd, int table);
    static Result<Place> of_directory(const mount::Bench& bench, int rootfs_fd);

    /// Descriptor of the root to attach below.
    int fd() const noexcept { return bind_ ? bind_.get() : rootfs_fd_; }
    bool is_bind() const noexcept { return static_cast<bool>(bind_); }

    /// Attaches the bind mount, if one is needed.
    Result<void> enter();
    /// Number of mounts that the bind mount copied, as enter() found it.
    int mounts_below() const noexcept { return below_.count > 0 ? below_.count : 0; }
    /// False if it is still there, because somebody else mounted over it or the kernel refused.
    bool leave() const;

private:
    Place(const mount::Bench& bench, int rootfs_fd) noexcept : bench_(bench), rootfs_fd_(rootfs_fd)
    {
    }

    mount::Bench bench_;
    int rootfs_fd_;
    base::UniqueFd bind_;
    bool entered_ = false;
    mount::Below below_;
};

} // namespace gpucontainer::apply
