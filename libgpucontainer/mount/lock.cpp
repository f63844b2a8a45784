// SPDX-License-Identifier: MIT
#include "mount/lock.hpp"

#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/child.hpp"
#include "mount/private_copy.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using Name = std::array<char, 24>;

Name name_of(std::size_t index) noexcept
{
    Name name = {};
    (void)std::snprintf(name.data(), name.size(), "%zu", index);
    return name;
}

bool put(const Bench& bench, std::size_t index, int mount) noexcept
{
    const Name name = name_of(index);
    struct stat status = {};
    if (::fstat(mount, &status) != 0)
        return false;
    constexpr mode_t mode = 0700;
    const int made = S_ISDIR(status.st_mode) ? ::mkdir(name.data(), mode)
                                             : ::mknod(name.data(), S_IFREG | mode, 0);
    return made == 0 && attach_below(bench, mount, AT_FDCWD, name.data()) == 0;
}

/// Runs in the child. Returns what failed.
const char* copy_locked(std::span<const int> mounts, std::span<int> copies) noexcept
{
    if (!enter_private_copy())
        return "make a mount namespace to lock mounts in";
    const Bench bench = {Backend::assembled};
    const base::UniqueFd places(new_tmpfs(bench, nullptr));
    if (!places || attach_below(bench, places.get(), AT_FDCWD, "/") != 0
        || ::fchdir(places.get()) != 0)
        return "make a place to lock mounts in";
    for (std::size_t i = 0; i < mounts.size(); ++i)
        if (!put(bench, i, mounts[i]))
            return "put a mount where it is locked";
    // Unbindable mounts cannot be copied. The root directory becomes the one over the namespace's.
    if (::mount(nullptr, ".", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || ::chroot(".") != 0)
        return "make a place to lock mounts in";
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return "make a user namespace to lock mounts in";
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        copies[i] = clone_tree(bench, AT_FDCWD, name_of(i).data(), true);
        if (copies[i] < 0)
            return "copy a locked mount";
    }
    return nullptr;
}

} // namespace

const char* lock(std::span<int> mounts) noexcept
{
    Child child(mounts.size());
    const char* const failed = child.run([&] { return copy_locked(mounts, child.numbers()); });
    const int reason = errno;
    const std::span<int> copies = child.numbers();
    for (std::size_t i = 0; i < copies.size(); ++i) {
        int& unused = failed == nullptr ? mounts[i] : copies[i];
        if (unused >= 0)
            (void)::close(unused);
        if (failed == nullptr)
            mounts[i] = copies[i];
    }
    errno = reason;
    return failed;
}

} // namespace gpucontainer::mount
