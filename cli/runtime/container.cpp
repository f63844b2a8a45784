// SPDX-License-Identifier: MIT
#include "runtime/container.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "runtime/user_namespace.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

constexpr mode_t place_directory_mode = 0755;
constexpr mode_t place_file_mode = S_IFREG | 0644;

/// Makes a place in our /dev for a part of the host's, if the host has that.
Fd place_for_device(const Fd& devices, const std::string& name, bool directory)
{
    const std::string path = "/dev/" + name;
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode) != directory)
        return {};
    const int made = directory ? ::mkdirat(devices.get(), name.c_str(), place_directory_mode)
                               : ::mknodat(devices.get(), name.c_str(), place_file_mode, 0);
    Fd place(made != 0 ? -1
                       : ::openat(devices.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place)
        fail("make a place for " + path, GPUCTR_E_APPLY);
    return place;
}

/// Bind mounts a part of the host's /dev there.
void share_device(const std::string& name, const Fd& place)
{
    const std::string path = "/dev/" + name;
    if (place && PrivateMounts::bind_over(path, place) != 0)
        fail("bind " + path, GPUCTR_E_APPLY);
}

void separate_mounts()
{
    // Slave, not private: what the host unmounts goes away here too, and is not kept busy.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        fail_to_mount("separate the mounts from the host's");
}

} // namespace

void enter_private_namespaces()
{
    if (::unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM)
            fail_to_unshare("make a mount namespace");
        enter_user_namespace();
    }
    separate_mounts();
}

void enter_private_mount_namespace()
{
    if (::unshare(CLONE_NEWNS) != 0)
        fail_to_unshare("make a mount namespace");
    separate_mounts();
}

Container::Container(std::string name) : name_(std::move(name))
{
    const Fd directory(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory)
        root_ = mounts_.bind(directory);
    if (!root_)
        fail("root file system " + name_, GPUCTR_E_ROOTFS,
             "name the directory that holds the container's /usr and /etc with --rootfs", "rootfs");
    set_apart();
}

Container::Container(std::string name, ImageRoot& image, const ImageOptions& options, bool writable)
    : name_(std::move(name)), root_(image.mount(mounts_, options))
{
    if (writable)
        root_ = mounts_.writable_over(root_, options.allow_setuid ? MS_NODEV : MS_NODEV | MS_NOSUID,
                                      options.label);
    if (!root_)
        fail("mount a writable overlay over " + name_, GPUCTR_E_APPLY,
             "leave out --writable-tmpfs, or use Linux 5.11 or newer");
    set_apart();
}

void Container::set_apart()
{
    if (PrivateMounts::make_private(root_) != 0 || mounts_.keep(root_) != 0)
        fail("set " + name_ + " apart from the host's mounts", GPUCTR_E_ROOTFS);
}

Fd Container::open(const std::string& path, int flags) const
{
    try {
        return Fd(gpucontainer::open_in_root(root_.get(), path, O_PATH | flags));
    } catch (const Error& error) {
        errno = error.os_error();
        return {};
    }
}

void Container::attach(const Fd& mount, const std::string& target) const
{
    const Fd place = open(target, 0);
    if (!place)
        fail(formatted("{} in {}", target, name_), GPUCTR_E_ROOTFS,
             "create it there as an empty directory; this command writes nothing into the root "
             "file system");
    if (PrivateMounts::move(mount, place) != 0)
        fail(formatted("mount {} in {}", target, name_), GPUCTR_E_ROOTFS);
}

void Container::mount_kernel_file_systems() const
{
    for (const char* path : {"/proc", "/sys"}) {
        const Fd source(::open(path, O_PATH | O_CLOEXEC));
        const Fd mount = source ? mounts_.bind(source) : Fd();
        if (!mount)
            fail(std::string("bind ") + path, GPUCTR_E_APPLY);
        attach(mount, path);
    }
}

void Container::mount_devices(const std::string& label)
{
    const Fd devices = mounts_.new_tmpfs(label);
    if (!devices && !label.empty() && errno == EINVAL)
        fail("mount label " + label, GPUCTR_E_REQUIREMENT,
             "SELinux has to be enabled, and know the label", "mount-label");
    if (!devices)
        fail("create a tmpfs for /dev", GPUCTR_E_APPLY);
    attach(devices, "/dev");
    for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"})
        share_device(name, place_for_device(devices, name, false));
    for (const char* name : {"pts", "shm"})
        shared_directories_.emplace_back(name, place_for_device(devices, name, true));
    constexpr std::array links = {
        std::pair{"/proc/self/fd", "fd"},       std::pair{"/proc/self/fd/0", "stdin"},
        std::pair{"/proc/self/fd/1", "stdout"}, std::pair{"/proc/self/fd/2", "stderr"},
        std::pair{"pts/ptmx", "ptmx"},
    };
    for (const auto& [target, name] : links)
        if (::symlinkat(target, devices.get(), name) != 0)
            fail(formatted("create /dev/{}", name), GPUCTR_E_APPLY);
}

void Container::share_directories()
{
    for (const auto& [name, place] : shared_directories_)
        share_device(name, place);
    shared_directories_.clear();
}

Bind parse_bind(const std::string& specification)
{
    const auto colon = specification.find(':');
    const std::string source = specification.substr(0, colon);
    std::string target = colon == std::string::npos ? source : specification.substr(colon + 1);
    bool read_only = false;
    if (const auto option = target.rfind(':'); option != std::string::npos) {
        read_only = target.substr(option) == ":ro";
        if (!read_only && target.substr(option) != ":rw")
            throw Error(GPUCTR_E_USAGE, "--bind " + specification + ": an unknown option",
                        "the form is SRC[:DST[:ro]]", 0, {}, "bind");
        target.erase(option);
    }
    if (!source.starts_with('/') || (!target.empty() && !target.starts_with('/')))
        throw Error(GPUCTR_E_USAGE, "--bind " + specification + ": paths must be absolute",
                    "the form is SRC[:DST[:ro]]", 0, {}, "bind");
    return {source, target.empty() ? source : target, read_only};
}

void Container::bind(const std::string& specification) const
{
    const auto [source, target, read_only] = parse_bind(specification);
    const Fd file(::open(source.c_str(), O_PATH | O_CLOEXEC));
    const Fd mount = !file ? Fd() : read_only ? mounts_.bind_read_only(file) : mounts_.bind(file);
    if (!mount)
        fail("--bind " + specification, GPUCTR_E_USAGE, "", "bind");
    attach(mount, target);
}

void Container::enter(const std::string& working_directory)
{
    // The first umount2 is of what covers the old root directory, the second of that itself.
    if (::fchdir(root_.get()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0
        || ::umount2(".", MNT_DETACH) != 0 || ::umount2(".", MNT_DETACH) != 0)
        fail("make " + name_ + " the root", GPUCTR_E_ROOTFS);
    mounts_.forget();
    // Not by chdir(): a link of the image may lead to a descriptor of ours, by /proc/self/fd.
    const std::string directory = working_directory.empty() ? "/" : working_directory;
    const Fd place = open(directory, O_DIRECTORY);
    if (!place || ::fchdir(place.get()) != 0)
        fail(formatted("working directory {} in {}", directory, name_), GPUCTR_E_ROOTFS, "",
             "chdir");
}

} // namespace gpuctr_cli
