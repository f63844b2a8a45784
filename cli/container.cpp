// SPDX-License-Identifier: MIT
#include "container.hpp"

#include "failure.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <gpucontainer/gpucontainer.hpp>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gpuctr_setup {
namespace {

using gpucontainer::Error;

constexpr mode_t directory_mode = 0755;
constexpr mode_t file_mode = 0644;

void write_file(const char* path, const std::string& text)
{
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        fail(fmt::format("write {}", path), GPUCTR_E_PERMISSION,
             "this system restricts user namespaces of ordinary users; see AppArmor's "
             "restriction or ask the administrator");
}

Fd clone_tree(int directory, const std::string& path)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
    if (path.empty())
        flags |= AT_EMPTY_PATH;
    return Fd(::open_tree(directory, path.c_str(), flags));
}

void set_attributes(const Fd& tree, std::uint64_t attributes, std::uint64_t propagation)
{
    mount_attr change = {};
    change.attr_set = attributes;
    change.propagation = propagation;
    if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) != 0)
        fail("set the flags of a mount", GPUCTR_E_APPLY);
}

Fd new_tmpfs()
{
    const Fd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        fail("create a tmpfs for /dev", GPUCTR_E_APPLY);
    Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    if (!mount)
        fail("create a tmpfs for /dev", GPUCTR_E_APPLY);
    return mount;
}

/// Puts a part of the host's /dev into ours; what the host lacks is left out.
void share_device(const Fd& devices, const std::string& name, bool directory)
{
    const std::string path = "/dev/" + name;
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode) != directory)
        return;
    const Fd tree = clone_tree(AT_FDCWD, path);
    if (!tree)
        fail("bind " + path, GPUCTR_E_APPLY);
    if (directory)
        (void)::mkdirat(devices.get(), name.c_str(), directory_mode);
    else
        (void)Fd(::openat(devices.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          file_mode));
    if (::move_mount(tree.get(), "", devices.get(), name.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
        fail("bind " + path, GPUCTR_E_APPLY);
}

void separate_mounts()
{
    // Not private: what the host unmounts should not be kept busy from here.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        fail("separate the mounts from the host's", GPUCTR_E_PERMISSION,
             "AppArmor may restrict user namespaces of ordinary users (sysctl "
             "kernel.apparmor_restrict_unprivileged_userns)");
}

} // namespace

void enter_private_namespaces()
{
    const uid_t uid = ::getuid();
    const gid_t gid = ::getgid();
    if (::unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM)
            fail("make a mount namespace", GPUCTR_E_PERMISSION);
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            fail("make a user namespace", GPUCTR_E_PERMISSION,
                 "this system allows ordinary users no user namespace (sysctl "
                 "user.max_user_namespaces, kernel.unprivileged_userns_clone, or AppArmor); run "
                 "as root or ask the administrator");
        write_file("/proc/self/setgroups", "deny");
        write_file("/proc/self/uid_map", fmt::format("{} {} 1", uid, uid));
        write_file("/proc/self/gid_map", fmt::format("{} {} 1", gid, gid));
    }
    separate_mounts();
}

void enter_private_mount_namespace()
{
    if (::unshare(CLONE_NEWNS) != 0)
        fail("make a mount namespace", GPUCTR_E_PERMISSION);
    separate_mounts();
}

Container::Container(std::string name) : name_(std::move(name)), root_(clone_tree(AT_FDCWD, "."))
{
    if (!root_)
        fail("root file system " + name_, GPUCTR_E_ROOTFS,
             "name the directory that holds the container's /usr and /etc with --rootfs");
    if (::move_mount(root_.get(), "", AT_FDCWD, ".", MOVE_MOUNT_F_EMPTY_PATH) != 0)
        fail("bind " + name_ + " on itself", GPUCTR_E_ROOTFS);
    set_attributes(root_, 0, MS_PRIVATE);
}

Fd Container::open(const std::string& path, int flags) const
{
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(flags) | O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return Fd(
        static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
}

void Container::attach(const Fd& tree, const std::string& target) const
{
    const Fd place = open(target, 0);
    if (!place)
        fail(fmt::format("{} in {}", target, name_), GPUCTR_E_ROOTFS,
             "create it there as an empty directory; nothing is written into the root file "
             "system by this command");
    if (::move_mount(tree.get(), "", place.get(), "",
                     MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH)
        != 0)
        fail(fmt::format("mount {} in {}", target, name_), GPUCTR_E_ROOTFS);
}

void Container::mount_kernel_file_systems() const
{
    for (const char* path : {"/proc", "/sys"}) {
        const Fd tree = clone_tree(AT_FDCWD, path);
        if (!tree)
            fail(std::string("bind ") + path, GPUCTR_E_APPLY);
        attach(tree, path);
    }
}

void Container::mount_devices() const
{
    const Fd devices = new_tmpfs();
    attach(devices, "/dev");
    for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"})
        share_device(devices, name, false);
    for (const char* name : {"pts", "shm"})
        share_device(devices, name, true);
    constexpr std::array links = {
        std::pair{"/proc/self/fd", "fd"},       std::pair{"/proc/self/fd/0", "stdin"},
        std::pair{"/proc/self/fd/1", "stdout"}, std::pair{"/proc/self/fd/2", "stderr"},
        std::pair{"pts/ptmx", "ptmx"},
    };
    for (const auto& [target, name] : links)
        if (::symlinkat(target, devices.get(), name) != 0)
            fail(fmt::format("create /dev/{}", name), GPUCTR_E_APPLY);
}

void Container::bind(const std::string& specification) const
{
    const auto colon = specification.find(':');
    const std::string source = specification.substr(0, colon);
    std::string target = colon == std::string::npos ? source : specification.substr(colon + 1);
    bool read_only = false;
    if (const auto option = target.rfind(':'); option != std::string::npos) {
        read_only = target.substr(option) == ":ro";
        if (!read_only && target.substr(option) != ":rw")
            throw Error(GPUCTR_E_USAGE, "--bind " + specification + ": an unknown option",
                        "the form is SRC[:DST[:ro]]", 0);
        target.erase(option);
    }
    if (!source.starts_with('/') || (!target.empty() && !target.starts_with('/')))
        throw Error(GPUCTR_E_USAGE, "--bind " + specification + ": paths must be absolute",
                    "the form is SRC[:DST[:ro]]", 0);
    const Fd tree = clone_tree(AT_FDCWD, source);
    if (!tree)
        fail("bind " + source, GPUCTR_E_USAGE);
    if (read_only)
        set_attributes(tree, MOUNT_ATTR_RDONLY, 0);
    attach(tree, target.empty() ? source : target);
}

void Container::enter(const std::string& working_directory) const
{
    if (::fchdir(root_.get()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0
        || ::umount2(".", MNT_DETACH) != 0)
        fail("make " + name_ + " the root", GPUCTR_E_ROOTFS);
    const std::string directory = working_directory.empty() ? "/" : working_directory;
    if (::chdir(directory.c_str()) != 0)
        fail(fmt::format("working directory {} in {}", directory, name_), GPUCTR_E_ROOTFS);
}

} // namespace gpuctr_setup
