// SPDX-License-Identifier: MIT
#include "runtime/private_mounts.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "syscall/fd_path.hpp"
#include "syscall/mount_flags.hpp"
#include "syscall/proc.hpp"
#include "syscall/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

namespace syscall = gpucontainer::syscall;
using syscall::FdPath;

constexpr mode_t directory_mode = 0755;
constexpr mode_t file_mode = S_IFREG | 0644;
constexpr const char* directory_name = "directory";
constexpr const char* file_name = "file";
constexpr const char* kept_name = "kept";
constexpr const char* upper_name = "upper";
constexpr const char* work_name = "work";

/// Our caller may have mounted something else over /proc, which we use to name descriptors.
void check_proc()
{
    const Fd proc = syscall::open_proc();
    const auto is_kernels = [&](const char* directory) {
        return static_cast<bool>(
            syscall::open_in_proc(proc.get(), directory, O_PATH | O_DIRECTORY));
    };
    // CMD's /dev/fd is a link to the latter.
    const bool genuine = proc && is_kernels(syscall::own_descriptors) && is_kernels("self/fd");
    if (!genuine)
        throw gpucontainer::Error(GPUCTR_E_REQUIREMENT, "/proc is not the kernel's",
                                  "mount it: mount -t proc proc /proc", 0);
}

FdPath path_of(const Fd& fd) { return FdPath(fd.get()); }

std::string with_label(const std::string& options, const std::string& label)
{
    // In quotes, because the categories of a label are separated by commas.
    return label.empty() ? options : formatted("{},context=\"{}\"", options, label);
}

} // namespace

PrivateMounts::PrivateMounts()
{
    check_proc();
    // Mounted over the root directory, where only the path "/.." leads to it.
    if (::mount("gpuctr", "/", "tmpfs", MS_NOSUID | MS_NOEXEC | MS_NODEV, "mode=0700") == 0)
        scratch_ = Fd(::open("/..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!scratch_ || ::mkdirat(scratch_.get(), directory_name, directory_mode) != 0
        || ::mknodat(scratch_.get(), file_name, file_mode, 0) != 0)
        fail("make a place to mount at", GPUCTR_E_APPLY);
}

PrivateMounts::~PrivateMounts()
{
    if (scratch_)
        (void)::umount2(path_of(scratch_), MNT_DETACH);
}

Fd PrivateMounts::place(bool directory) const
{
    return Fd(::openat(scratch_.get(), directory ? directory_name : file_name,
                       O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

Fd PrivateMounts::bind(const Fd& source, unsigned long flags) const
{
    struct stat status = {};
    if (::fstat(source.get(), &status) != 0)
        return {};
    const bool directory = S_ISDIR(status.st_mode);
    const Fd target = place(directory);
    if (!target
        || ::mount(path_of(source), path_of(target), nullptr, MS_BIND | flags, nullptr) != 0)
        return {};
    Fd mount = place(directory); // the same name leads to the new mount
    // A copy of the root directory has our scratch mount over it too.
    struct stat top = {};
    struct stat scratch = {};
    if (::fstat(mount.get(), &top) == 0 && ::fstat(scratch_.get(), &scratch) == 0
        && top.st_dev == scratch.st_dev && ::umount2(path_of(mount), MNT_DETACH) == 0)
        mount = place(directory);
    return mount;
}

Fd PrivateMounts::bind(const Fd& source) const { return bind(source, MS_REC); }

Fd PrivateMounts::bind_read_only(const Fd& source) const
{
    const bool all = syscall::has_call(SYS_mount_setattr);
    Fd mount = bind(source, all ? static_cast<unsigned long>(MS_REC) : 0UL);
    mount_attr change = {};
    change.attr_set = MOUNT_ATTR_RDONLY;
    if (mount && all
        && ::mount_setattr(mount.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change)
               != 0)
        return {};
    if (mount && !all && syscall::add_mount_flags(mount.get(), MS_RDONLY) != 0)
        return {};
    return mount;
}

Fd PrivateMounts::mount(const char* source, const char* type, unsigned long flags,
                        const std::string& options) const
{
    const Fd target = place(true);
    if (!target || ::mount(source, path_of(target), type, flags, options.c_str()) != 0)
        return {};
    return place(true);
}

Fd PrivateMounts::new_tmpfs(const std::string& label) const
{
    return mount("gpuctr", "tmpfs", MS_NOSUID | MS_NOEXEC, with_label("mode=0755", label));
}

Fd PrivateMounts::writable_over(const Fd& lower, unsigned long flags,
                                const std::string& label) const
{
    const Fd memory = mount("gpuctr", "tmpfs", flags, with_label("mode=0755", label));
    if (!memory || ::mkdirat(memory.get(), upper_name, directory_mode) != 0
        || ::mkdirat(memory.get(), work_name, directory_mode) != 0)
        return {};
    const Fd upper(::openat(memory.get(), upper_name, O_PATH | O_CLOEXEC));
    const Fd work(::openat(memory.get(), work_name, O_PATH | O_CLOEXEC));
    if (!upper || !work)
        return {};
    const std::string layers = formatted(
        "lowerdir={},upperdir={},workdir={}", static_cast<const char*>(path_of(lower)),
        static_cast<const char*>(path_of(upper)), static_cast<const char*>(path_of(work)));
    // In a user namespace, attributes of overlays have to be those of users.
    Fd overlay = mount("gpuctr", "overlay", flags, with_label(layers + ",userxattr", label));
    if (!overlay && errno == EINVAL) // Linux before 5.11
        overlay = mount("gpuctr", "overlay", flags, with_label(layers, label));
    return overlay;
}

int PrivateMounts::keep(const Fd& mount) const
{
    if (::mkdirat(scratch_.get(), kept_name, directory_mode) != 0)
        return -1;
    const Fd target(::openat(scratch_.get(), kept_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return target ? move(mount, target) : -1;
}

int PrivateMounts::move(const Fd& mount, const Fd& target)
{
    return ::mount(path_of(mount), path_of(target), nullptr, MS_MOVE, nullptr);
}

int PrivateMounts::bind_over(const std::string& source, const Fd& target)
{
    return ::mount(source.c_str(), path_of(target), nullptr, MS_BIND | MS_REC, nullptr);
}

int PrivateMounts::make_private(const Fd& mount)
{
    return ::mount(nullptr, path_of(mount), nullptr, MS_PRIVATE | MS_REC, nullptr);
}

} // namespace gpuctr_cli
