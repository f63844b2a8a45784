// SPDX-License-Identifier: MIT
#include "runtime/user_namespace.hpp"

#include "output/format.hpp"
#include "process/descriptor.hpp"
#include "syscall/id_map.hpp"
#include "syscall/mount_number.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gpucontainer/gpucontainer.hpp>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr int wanted = CLONE_NEWUSER | CLONE_NEWNS;

/// What is in the way, and what to do about it.
struct Obstacle {
    std::string cause;
    std::string hint;
};

[[noreturn]] void fail(const std::string& what, const Obstacle& obstacle, int error)
{
    throw gpucontainer::Error(GPUCTR_E_PERMISSION, what + ": " + obstacle.cause, obstacle.hint,
                              error);
}

/// First line of a small file of the kernel; "" if it is missing.
std::string first_line(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool is_mapped(const char* map, std::uint32_t id)
{
    std::ifstream file(map);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return gpucontainer::syscall::find_range(text, id).has_value();
}

/// Whether a seccomp filter forbids a call. The call is made with invalid arguments, which the
/// kernel refuses with another error, before it checks privileges.
bool is_unshare_filtered()
{
    constexpr int no_such_flag = 1;
    return ::unshare(wanted | no_such_flag) != 0 && errno != EINVAL;
}
bool is_mount_filtered()
{
    return ::mount(nullptr, nullptr, nullptr, MS_SLAVE, nullptr) != 0 && errno != EFAULT;
}

/// Mount point of a mount, as a process sees it; "" if its mount table does not have it.
std::string mount_point(const std::string& table, std::uint64_t mount)
{
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::uint64_t id = 0;
        std::string skipped;
        std::string point;
        if (fields >> id >> skipped >> skipped >> skipped >> point && id == mount)
            return point;
    }
    return "";
}

/// Pid of the parent process; "0" for the first process, or if unknown.
std::string parent_of(const std::string& pid)
{
    std::ifstream lines(formatted("/proc/{}/status", pid));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string name;
        std::string parent;
        if (fields >> name >> parent && name == "PPid:")
            return parent;
    }
    return "0";
}

/// Whether the root directory is not that of the mount namespace: it is not a mount point, or an
/// ancestor of this process sees its mount in another place.
bool is_in_chroot()
{
    const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::uint64_t mount = 0;
    if (!gpucontainer::syscall::mount_number(root.get(), mount))
        return false;
    if (mount_point("/proc/self/mountinfo", mount).empty())
        return true;
    for (std::string pid = parent_of("self"); pid != "0"; pid = parent_of(pid)) {
        const auto point = mount_point(formatted("/proc/{}/mountinfo", pid), mount);
        if (!point.empty() && point != "/")
            return true;
    }
    return false;
}

Obstacle filter_of(const char* calls)
{
    return {formatted("a seccomp filter forbids {}", calls),
            "the container engine or the service that this runs in has set it, and has to allow "
            "the call (such as with --security-opt seccomp=... or without RestrictNamespaces=); "
            "or run this outside"};
}

/// Finds the security module that confines this process.
Obstacle security_module(int error)
{
    const bool restricts =
        first_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").starts_with('1');
    const std::string label = first_line("/proc/self/attr/current");
    constexpr std::string_view enforced = " (enforce)";
    if (restricts)
        return {"AppArmor restricts the user namespaces of ordinary users (sysctl "
                "kernel.apparmor_restrict_unprivileged_userns is 1)",
                "an administrator gives gpuctr-setup an AppArmor profile with the rule `userns,` "
                "or sets that sysctl to 0"};
    if (label.ends_with(enforced))
        return {formatted("the AppArmor profile {} forbids it",
                          label.substr(0, label.size() - enforced.size())),
                "an administrator or the container engine has to run this under another profile"};
    if (error == EACCES && first_line("/sys/fs/selinux/enforce").starts_with('1'))
        return {"SELinux forbids it",
                "the audit log says which rule is missing; an administrator has to allow it"};
    return {::strerrordesc_np(error),
            "neither a sysctl nor a seccomp filter is in the way; a security module or a chroot "
            "may be, and the kernel's log or the audit log may say so"};
}

/// The limit on the number of `things`, which is the sysctl with that value.
Obstacle limit_of(const char* things, const std::string& sysctl, const std::string& value)
{
    if (value == "0")
        return {
            formatted("the sysctl {} is 0", sysctl),
            formatted("an administrator allows {} again with `sysctl {}=15000`", things, sysctl)};
    if (gpucontainer::syscall::is_in_initial_user_namespace().value_or(false))
        return {formatted("this user has as many {} as the sysctl {} allows ({})", things, sysctl,
                          value),
                "end some of them, or have an administrator raise it"};
    return {formatted("the sysctl {} allows no more {} in one of the user namespaces that this "
                      "runs in, or those are 33 deep already",
                      sysctl, things),
            "run this further outside"};
}

Obstacle limit()
{
    // Read first: after unshare() they are those of the new user namespace.
    const std::string users = first_line("/proc/sys/user/max_user_namespaces");
    const std::string mounts = first_line("/proc/sys/user/max_mnt_namespaces");
    if (::unshare(CLONE_NEWUSER) == 0)
        return limit_of("mount namespaces", "user.max_mnt_namespaces", mounts);
    return limit_of("user namespaces", "user.max_user_namespaces", users);
}

/// Why unshare() refused.
Obstacle obstacle_to_unsharing(int error)
{
    if (is_unshare_filtered())
        return filter_of("unshare");
    if (error == ENOSPC || error == EUSERS)
        return limit();
    if (error == EINVAL && ::access("/proc/self", F_OK) == 0
        && ::access("/proc/self/ns/user", F_OK) != 0)
        return {"this kernel has none (CONFIG_USER_NS)", "run as root"};
    if (error == EPERM && first_line("/proc/sys/kernel/unprivileged_userns_clone") == "0")
        return {"the sysctl kernel.unprivileged_userns_clone is 0",
                "an administrator allows them with `sysctl kernel.unprivileged_userns_clone=1`"};
    if (error == EPERM
        && (!is_mapped("/proc/self/uid_map", ::geteuid())
            || !is_mapped("/proc/self/gid_map", ::getegid())))
        return {"this user or group has no id in the user namespace that this runs in",
                "whoever made that one has to map it (unshare --map-root-user, or podman unshare)"};
    if (error == EPERM && is_in_chroot())
        return {"the kernel makes none for a process in a chroot",
                "run this outside of the chroot, or enter it by pivot_root as containers do"};
    return security_module(error);
}

void write_map(const char* path, const std::string& text)
{
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
        return;
    const int error = errno;
    const std::string what = formatted("write {}", path);
    if (error == EPERM || error == EACCES)
        fail(what, security_module(error), error);
    fail(what, {::strerrordesc_np(error), "/proc has to be mounted"}, error);
}

} // namespace

void enter_user_namespace()
{
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (::unshare(wanted) != 0)
        fail_to_unshare("make a user namespace");
    write_map("/proc/self/setgroups", "deny");
    write_map("/proc/self/uid_map", formatted("{} {} 1", uid, uid));
    write_map("/proc/self/gid_map", formatted("{} {} 1", gid, gid));
}

void fail_to_unshare(const std::string& what)
{
    const int error = errno;
    fail(what, obstacle_to_unsharing(error), error);
}

void fail_to_mount(const std::string& what)
{
    const int error = errno;
    const bool denied = error == EPERM || error == EACCES || error == ENOSYS;
    if (is_mount_filtered())
        fail(what, filter_of("mount"), error);
    fail(what, denied ? security_module(error) : Obstacle{::strerrordesc_np(error), ""}, error);
}

} // namespace gpuctr_cli
