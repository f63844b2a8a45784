// SPDX-License-Identifier: MIT
#include "mount/calls.hpp"

#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/legacy.hpp"
#include "mount/table.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

/// SELinux's option for a label that all files of the file system have.
int set_label(int context, const char* label) noexcept
{
    if (label == nullptr || *label == '\0')
        return 0;
    return ::fsconfig(context, FSCONFIG_SET_STRING, "context", label, 0);
}

} // namespace

int clone_tree(Bench& bench, int dir_fd, const char* path, bool recursive) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::bind(bench, dir_fd, path, recursive);
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
    if (*path == '\0')
        flags |= AT_EMPTY_PATH;
    if (recursive)
        flags |= AT_RECURSIVE;
    return base::above_standard(::open_tree(dir_fd, path, flags));
}

int clone_private(Bench& bench, int fd) noexcept
{
    if (bench.backend == Backend::detached) {
        mount_attr change = {};
        change.propagation = MS_PRIVATE;
        const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
        return base::above_standard(static_cast<int>(
            ::syscall(open_tree_attr_number, fd, "", flags, &change, sizeof change)));
    }
    base::UniqueFd clone(clone_tree(bench, fd, "", true));
    if (clone && set_attributes(bench, clone.get(), 0, MS_PRIVATE, true) != 0)
        return -1;
    return clone.release();
}

int attach(const Bench& bench, int tree_fd, int target_fd) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::move(tree_fd, target_fd);
    return ::move_mount(tree_fd, "", target_fd, "",
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept
{
    if (bench.backend != Backend::legacy)
        return ::move_mount(tree_fd, "", base_fd, path, MOVE_MOUNT_F_EMPTY_PATH);
    const base::UniqueFd target(::openat(base_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return target ? legacy::move(tree_fd, target.get()) : -1;
}

int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::bind_below(source_fd, base_fd, path);
    Bench own = bench;
    base::UniqueFd copy(clone_tree(own, source_fd, "", true));
    return copy && attach_below(bench, copy.get(), base_fd, path) == 0 ? copy.release() : -1;
}

int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::change(tree_fd, attributes, propagation, recursive);
    mount_attr change = {};
    change.attr_set = attributes;
    change.propagation = propagation;
    const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
    return ::mount_setattr(tree_fd, "", flags, &change, sizeof change);
}

int new_tmpfs(Bench& bench, const char* label) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::mount(bench, "tmpfs", 0, "mode=0755", label);
    const base::UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
}

int make_read_only(int fd) noexcept
{
    const base::UniqueFd context(::fspick(fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) != 0)
        return -1;
    return ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0);
}

int new_overlay(Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::overlay(bench, upper_fd, lower_fd, attributes, label);
    const base::UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
    if (!context)
        return -1;
    std::array<char, 80> layers = {};
    (void)std::snprintf(layers.data(), layers.size(), "%s:%s",
                        static_cast<const char*>(FdPath(upper_fd)),
                        static_cast<const char*>(FdPath(lower_fd)));
    // userxattr keeps trusted.overlay.* out of it, which a user namespace could
    // not read and which only an image could have brought.
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "lowerdir", layers.data(), 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "userxattr", nullptr, 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(
        ::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
}

} // namespace gpucontainer::mount
