// SPDX-License-Identifier: MIT
#include "confine.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mounts.hpp"
#include "replay.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

constexpr int other_namespaces = CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr unsigned id_count = 65'536;

Error denied(std::string_view what)
{
    return Error::from_errno(errno, std::string(what), Errc::permission);
}

Result<void> become(uid_t uid, gid_t gid)
{
    if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0
        || ::setresuid(uid, uid, uid) != 0)
        return denied(base::format("become user {}", uid));
    return {};
}

Result<void> unshare_others()
{
    if (::unshare(CLONE_NEWNS | other_namespaces) != 0)
        return denied("make namespaces");
    return {};
}

/// Without user namespaces: an id of no account, and no way back to a capability.
Result<void> become_nobody()
{
    constexpr unsigned most_capabilities = 64;
    GPUCTR_CHECK(unshare_others());
    for (unsigned capability = 0; capability < most_capabilities; ++capability)
        if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL)
            return denied("drop capabilities");
    return become(first_replay_id, first_replay_id);
}

bool write_whole(const std::string& path, const std::string& text)
{
    const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file
           && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A user namespace that the machine's root, who made the mounts, is not in.
Result<bool> enter_user_namespace(const Caller& caller, IdGiver& giver)
{
    if (::unshare(CLONE_NEWUSER) != 0) {
        if (!caller.is_root)
            return denied("make a user namespace");
        GPUCTR_CHECK(become_nobody());
        return false;
    }
    if (!caller.is_root) {
        GPUCTR_CHECK(map_identity(caller.uid, caller.gid, false));
    } else {
        GPUCTR_CHECK(giver.ask());
        GPUCTR_CHECK(become(0, 0));
    }
    GPUCTR_CHECK(unshare_others());
    return true;
}

Result<void> close_descriptors()
{
    constexpr unsigned first = STDERR_FILENO + 1;
    if (::syscall(SYS_close_range, first, ~0U, 0) == 0)
        return {};
    GPUCTR_TRY(const auto names, base::list_directory(AT_FDCWD, "/proc/self/fd"));
    for (const std::string& name : names)
        if (const auto number = base::to_number(name); number && *number >= first)
            (void)::close(static_cast<int>(*number));
    return {};
}

} // namespace

Result<IdGiver> IdGiver::make()
{
    std::array<int, 2> ends = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return denied("make a pair of sockets");
    IdGiver giver;
    giver.child_end_.reset(ends[0]);
    giver.parent_end_.reset(ends[1]);
    return giver;
}

Result<void> IdGiver::ask()
{
    parent_end_.reset();
    char answer = 0;
    if (::send(child_end_.get(), "?", 1, MSG_NOSIGNAL) != 1
        || ::recv(child_end_.get(), &answer, 1, 0) != 1 || answer != 'y')
        return Error(Errc::permission, "map the ids of a user namespace: the kernel refuses them");
    return {};
}

void IdGiver::give_to(pid_t child)
{
    child_end_.reset();
    char question = 0;
    if (::recv(parent_end_.get(), &question, 1, 0) != 1)
        return;
    const std::string map = base::format("0 {} {}", first_replay_id, id_count);
    const std::string process = base::format("/proc/{}/", child);
    const bool given =
        write_whole(process + "uid_map", map) && write_whole(process + "gid_map", map);
    (void)::send(parent_end_.get(), given ? "y" : "n", 1, MSG_NOSIGNAL);
}

Result<bool> confine(const Caller& caller, IdGiver& giver)
{
    if (::setsid() < 0 && errno != EPERM) // EPERM: it leads one
        return denied("make a session");
    // Seccomp filters of containers forbid keys; then nobody can use one.
    (void)::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    GPUCTR_TRY(const bool has_namespace, enter_user_namespace(caller, giver));
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return denied("forbid new privileges");
    GPUCTR_CHECK(close_descriptors());
    // Last: a change of ids takes it back.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return denied("end with the parent");
    return has_namespace;
}

std::vector<std::string> plain_environment()
{
    std::vector<std::string> environment;
    for (const char* name : {"PATH", "TERM", "LANG"})
        if (const char* const value = ::getenv(name); value != nullptr)
            environment.push_back(base::format("{}={}", name, value));
    return environment;
}

} // namespace gpucontainer::simhost
