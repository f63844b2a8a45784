// SPDX-License-Identifier: MIT
#include "mount/by_descriptors.hpp"

#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/table.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

/// Sets SELinux's option for a label of all files in the file system.
int set_label(int context, const char* label) noexcept
{
    if (label == nullptr || *label == '\0')
        return 0;
    return ::fsconfig(context, FSCONFIG_SET_STRING, "context", label, 0);
}

int clone_tree(const Bench& /*bench*/, int dir_fd, const char* path, bool recursive) noexcept
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
    if (*path == '\0')
        flags |= AT_EMPTY_PATH;
    if (recursive)
        flags |= AT_RECURSIVE;
    return base::above_standard(::open_tree(dir_fd, path, flags));
}

int attach_below(int tree_fd, int base_fd, const char* path) noexcept
{
    return ::move_mount(tree_fd, "", base_fd, path, MOVE_MOUNT_F_EMPTY_PATH);
}

int attach(int tree_fd, int target_fd) noexcept
{
    return ::move_mount(tree_fd, "", target_fd, "",
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int bind_below(int source_fd, int base_fd, const char* path) noexcept
{
    base::UniqueFd copy(clone_tree({}, source_fd, "", true));
    return copy && attach_below(copy.get(), base_fd, path) == 0 ? copy.release() : -1;
}

int set_attributes(int tree_fd, std::uint64_t attributes, std::uint64_t propagation,
                   bool recursive) noexcept
{
    mount_attr change = {};
    change.attr_set = attributes;
    change.propagation = propagation;
    const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
    return ::mount_setattr(tree_fd, "", flags, &change, sizeof change);
}

int clone_and_make_private(const Bench& bench, int fd) noexcept
{
    base::UniqueFd clone(clone_tree(bench, fd, "", true));
    return clone && set_attributes(clone.get(), 0, MS_PRIVATE, true) == 0 ? clone.release() : -1;
}

int clone_as_private(const Bench& /*bench*/, int fd) noexcept
{
    mount_attr change = {};
    change.propagation = MS_PRIVATE;
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
    return base::above_standard(
        static_cast<int>(::syscall(open_tree_attr_number, fd, "", flags, &change, sizeof change)));
}

int new_tmpfs(const Bench& /*bench*/, const char* label) noexcept
{
    const base::UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
}

int new_overlay(const Bench& /*bench*/, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept
{
    const base::UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
    if (!context)
        return -1;
    std::array<char, 80> layers = {};
    (void)std::snprintf(layers.data(), layers.size(), "%s:%s",
                        static_cast<const char*>(FdPath(upper_fd)),
                        static_cast<const char*>(FdPath(lower_fd)));
    // With userxattr, attributes trusted.overlay.* are ignored. They could only come from an image,
    // and a user namespace could not read them.
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "lowerdir", layers.data(), 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "userxattr", nullptr, 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(
        ::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
}

/// With what Linux 6.15 added, or without.
constexpr Way make_way(bool newest) noexcept
{
    return {
        .detached = true,
        .takes_mounts = newest,
        .sets_below = true,
        .locks = true,
        .from_copy = true,
        .clone_tree = clone_tree,
        .clone_private = newest ? clone_as_private : clone_and_make_private,
        .attach = attach,
        .attach_below = attach_below,
        .bind_below = bind_below,
        .set_attributes = set_attributes,
        .new_tmpfs = new_tmpfs,
        .new_overlay = new_overlay,
    };
}

} // namespace

constexpr Way assembled_way = make_way(false);
constexpr Way detached_way = make_way(true);

} // namespace gpucontainer::mount
