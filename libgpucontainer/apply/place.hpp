// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "mount/table.hpp"

namespace gpucontainer::apply {

/// The mount that a plan is attached below: the root's own where it shows nowhere
/// else, otherwise a private bind of it on itself.
class Place {
public:
    /// For the root of a process that runs already: it would not see a bind over
    /// its root. `table` is the mount table that it is in.
    static Result<Place> of_process(const mount::Bench& bench, int rootfs_fd, int table);
    static Result<Place> of_directory(const mount::Bench& bench, int rootfs_fd);

    /// Descriptor of the root to attach below.
    int fd() const noexcept { return bind_ ? bind_.get() : rootfs_fd_; }
    bool is_bind() const noexcept { return static_cast<bool>(bind_); }

    /// Attaches the bind, if there is one to be.
    Result<void> enter();
    /// What came along with the bind, as enter() found it.
    int mounts_below() const noexcept { return below_.count > 0 ? below_.count : 0; }
    /// False when it is still there, under what somebody else mounted or because the
    /// kernel refused.
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
