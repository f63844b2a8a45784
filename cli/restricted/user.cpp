// SPDX-License-Identifier: MIT
#include "restricted/user.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "syscall/capabilities.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gpucontainer/gpucontainer.hpp>
#include <grp.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

constexpr const char* key = "restricted-user";

struct User {
    std::string name;
    std::string home;
    uid_t uid;
    gid_t gid;
    std::vector<gid_t> groups; ///< Sorted, each once.
};

struct Ids {
    std::array<uid_t, 3> users;
    std::array<gid_t, 3> groups;
};

[[noreturn]] void refuse_user(const std::string& name, const std::string& why)
{
    throw gpucontainer::Error(GPUCTR_E_PERMISSION, formatted("{}: {}", name, why),
                              "name an ordinary user who has nothing but GPUs", 0, {}, key);
}

std::vector<gid_t> groups_of(const std::string& name, gid_t gid)
{
    constexpr int most = 1 << 16;
    int count = 1 << 6;
    std::vector<gid_t> groups;
    do {
        groups.resize(static_cast<std::size_t>(count));
        if (::getgrouplist(name.c_str(), gid, groups.data(), &count) >= 0) {
            groups.resize(static_cast<std::size_t>(count));
            std::sort(groups.begin(), groups.end());
            groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
            return groups;
        }
    } while (count > static_cast<int>(groups.size()) && count <= most);
    refuse_user(name, "the groups of this user cannot be listed");
}

User look_up(const std::string& name)
{
    errno = 0;
    const passwd* const entry = ::getpwnam(name.c_str());
    if (entry == nullptr)
        refuse_user(name, errno == 0 || errno == ENOENT
                              ? "no such user"
                              : formatted("cannot be looked up: {}", ::strerrordesc_np(errno)));
    User user = {name, entry->pw_dir, entry->pw_uid, entry->pw_gid, {}};
    user.groups = groups_of(name, user.gid);
    if (user.uid == 0)
        refuse_user(name, "is root");
    if (user.groups.front() == 0)
        refuse_user(name, "is in the group of root");
    return user;
}

Ids ids()
{
    Ids found = {};
    if (::getresuid(&found.users[0], &found.users[1], &found.users[2]) != 0
        || ::getresgid(&found.groups[0], &found.groups[1], &found.groups[2]) != 0)
        fail("read the ids of this process", GPUCTR_E_INTERNAL);
    return found;
}

bool has_capabilities()
{
    const auto sets = gpucontainer::syscall::read_capabilities();
    if (!sets)
        fail("read the capabilities of this process", GPUCTR_E_INTERNAL);
    return (sets->effective | sets->permitted | sets->inheritable) != 0;
}

/// Checks that the process really has become the user, whatever the system calls returned.
void check_is(const User& user)
{
    const Ids found = ids();
    std::vector<gid_t> groups(user.groups.size() + 1);
    const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(count, 0)));
    std::sort(groups.begin(), groups.end());
    const bool is_user = std::all_of(found.users.begin(), found.users.end(),
                                     [&](uid_t uid) { return uid == user.uid; });
    const bool is_group = std::all_of(found.groups.begin(), found.groups.end(),
                                      [&](gid_t gid) { return gid == user.gid; });
    if (!is_user || !is_group || groups != user.groups || has_capabilities())
        refuse_user(user.name, "this process could not become this user");
}

void take_ids_of(const User& user)
{
    if (::setgroups(user.groups.size(), user.groups.data()) != 0
        || ::setresgid(user.gid, user.gid, user.gid) != 0
        || ::setresuid(user.uid, user.uid, user.uid) != 0)
        fail(formatted("{}: become this user", user.name), GPUCTR_E_PERMISSION,
             "start a restricted call with root's privileges, for example by sudo; it drops them",
             key);
    // With some securebits of the caller, capabilities outlast the change of ids.
    gpucontainer::harden(0, GPUCTR_HARDEN_NEW_PRIVILEGES | GPUCTR_HARDEN_DUMPABLE);
    check_is(user);
}

/// Joins a new session keyring. A process keeps access to the caller's when its user changes.
void leave_keys_behind()
{
    // If a filter forbids the call, or the kernel has no keys, CMD cannot use any.
    if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS
        && errno != EPERM)
        fail("leave the session's keyring", GPUCTR_E_PERMISSION);
}

void describe_in_environment(const User& user)
{
    (void)::setenv("HOME", user.home.c_str(), 1);
    (void)::setenv("USER", user.name.c_str(), 1);
    (void)::setenv("LOGNAME", user.name.c_str(), 1);
    // It names a directory of the host for the container.
    (void)::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    (void)::unsetenv("MAIL");
    (void)::unsetenv("SHELL");
}

} // namespace

bool has_privileges()
{
    const Ids found = ids();
    const auto is_root = [](auto id) { return id == 0; };
    return std::any_of(found.users.begin(), found.users.end(), is_root)
           || std::any_of(found.groups.begin(), found.groups.end(), is_root) || has_capabilities();
}

void become_restricted_user(const std::string& name)
{
    const User user = look_up(name);
    leave_keys_behind(); // while root: the user's quota of keys may be used up
    take_ids_of(user);
    ::closefrom(STDERR_FILENO + 1); // also those that looking up the user opened
    if (::chdir("/") != 0)
        fail("leave the working directory", GPUCTR_E_PERMISSION);
    // A process that changed its user is not dumpable, so it may not map its ids.
    if (::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL) != 0)
        fail("become dumpable", GPUCTR_E_INTERNAL);
    describe_in_environment(user);
}

} // namespace gpuctr_cli
