// SPDX-License-Identifier: MIT
#include "apply/directory_times.hpp"

#include "apply/parent.hpp"
#include "base/file_time.hpp"
#include "base/in_root.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

/// When a name was last changed itself; 0 when it is not there.
std::int64_t changed_at(int directory, const char* name) noexcept
{
    struct stat status = {};
    if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return base::to_nanoseconds(status.st_ctim);
}

bool in_same_directory(const char* left, const char* right) noexcept
{
    const auto length = std::strrchr(left, '/') - left;
    return std::strrchr(right, '/') - right == length
           && std::strncmp(left, right, static_cast<std::size_t>(length)) == 0;
}

} // namespace

void note_times(const Program& program, int rootfs_fd) noexcept
{
    for (Operation& operation : program.operations())
        if (!is_mount(operation))
            if (const Parent parent(program, operation, rootfs_fd); parent)
                operation.parent_before = parent.mtime();
}

void adopt_time(const Program& program, Operation& operation, int rootfs_fd) noexcept
{
    const Parent parent(program, operation, rootfs_fd);
    if (!parent)
        return;
    // One system call makes the name and changes the directory, and the clock
    // of files may tick in between.
    constexpr std::int64_t tick = 20'000'000;
    const std::int64_t made = std::max(changed_at(parent.fd(), parent.name()),
                                       changed_at(parent.fd(), KeptName(parent.name()).name()));
    const std::int64_t time = parent.mtime();
    if (operation.parent_before != 0 && time <= made + tick)
        operation.parent_after = time;
}

void hand_on_time(const Program& program, const Operation& undone) noexcept
{
    if (is_mount(undone))
        return;
    for (Operation& later : program.operations())
        if (later.done != 0 && !is_mount(later) && later.parent_before == undone.parent_after
            && in_same_directory(program.text(later.path), program.text(undone.path)))
            later.parent_before = undone.parent_before;
}

void synchronize_directories(const Program& program, int rootfs_fd) noexcept
{
    for (const Operation& operation : program.operations()) {
        if (is_mount(operation))
            continue;
        const Parent parent(program, operation, rootfs_fd);
        const base::UniqueFd directory(
            parent ? base::open_in_root(parent.fd(), ".", O_RDONLY | O_DIRECTORY) : -1);
        if (directory)
            (void)::fsync(directory.get());
    }
}

} // namespace gpucontainer::apply
