// SPDX-License-Identifier: MIT
#include "mount/staging.hpp"

#include "base/try.hpp"
#include "mount/calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

constexpr std::size_t most_parts = 32;

Error denied(int os_error, const std::string& what)
{
    Error error = Error::from_errno(os_error, what, Errc::apply);
    if (error.code() != Errc::permission)
        return error;
    return std::move(error).with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns "
                                      "the mount namespace");
}

/// The one that needs no staging, and the one whose bench is the stage.
Result<DetachedTree> assemble_here(const Bench& bench, UniqueFd base,
                                   const std::vector<Branch>& branches,
                                   const std::vector<std::string>& parts)
{
    for (const Branch& branch : branches)
        if (attach_below(bench, branch.mount.get(), base.get(), branch.path.c_str()) != 0)
            return denied(errno, "put " + branch.path + " into the tree");
    DetachedTree assembled;
    for (const std::string& path : parts) {
        assembled.parts.emplace_back(clone_tree(bench, base.get(), path.c_str(), false));
        if (!assembled.parts.back())
            return denied(errno, "clone " + path + " of the tree");
    }
    assembled.tree = std::move(base);
    return assembled;
}

/// What the child reports: 0 and the descriptors, or what failed.
struct Report {
    int os_error = 0;
    int stage = 0; ///< Number of the branch, or one of those below.
};
constexpr int stage_namespace = -1;
constexpr int stage_clone = -2;

union ControlBuffer {
    cmsghdr header;
    std::array<char, CMSG_SPACE(sizeof(int) * (most_parts + 1))> bytes;
};

/// Runs in the child: system calls only, as the parent may have threads.
class Stage {
public:
    Stage(int base, const std::vector<Branch>& branches, const std::vector<std::string>& parts)
        : base_(base), branches_(branches), parts_(parts)
    {
    }

    void run(int socket) noexcept
    {
        Report report;
        if (!build(report))
            report.os_error = errno;
        send(socket, report);
    }

private:
    bool build(Report& report) noexcept
    {
        report.stage = stage_namespace;
        // A tree that nothing else sees: the copy of the namespace is private
        // all over, and "/" is a place that there always is.
        if (::unshare(CLONE_NEWNS) != 0
            || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0
            || attach_below(bench_, base_, AT_FDCWD, "/") != 0)
            return false;
        report.stage = 0;
        for (const Branch& branch : branches_) {
            if (attach_below(bench_, branch.mount.get(), base_, branch.path.c_str()) != 0)
                return false;
            ++report.stage;
        }
        report.stage = stage_clone;
        made_[count_++] = clone_tree(bench_, base_, "", true);
        for (const std::string& path : parts_)
            if (made_[count_ - 1] >= 0)
                made_[count_++] = clone_tree(bench_, base_, path.c_str(), false);
        return made_[count_ - 1] >= 0;
    }

    void send(int socket, const Report& report) noexcept
    {
        iovec data = {const_cast<Report*>(&report), sizeof report}; // NOLINT: only read
        ControlBuffer control = {};
        msghdr message = {};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        if (report.os_error == 0) {
            message.msg_control = control.bytes.data();
            message.msg_controllen = CMSG_SPACE(sizeof(int) * count_);
            cmsghdr* const header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int) * count_);
            std::memcpy(CMSG_DATA(header), made_.data(), sizeof(int) * count_);
        }
        (void)::sendmsg(socket, &message, MSG_NOSIGNAL);
    }

    const Bench bench_ = {Backend::staged};
    int base_;
    const std::vector<Branch>& branches_;
    const std::vector<std::string>& parts_;
    std::array<int, most_parts + 1> made_ = {};
    std::size_t count_ = 0;
};

Result<DetachedTree> receive(int socket, const std::vector<Branch>& branches, std::size_t parts)
{
    Report report;
    iovec data = {&report, sizeof report};
    ControlBuffer control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    ssize_t got = -1;
    do
        got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof report))
        return Error(Errc::apply, "the process that stages mounts ended early");
    if (report.os_error != 0) {
        if (report.stage == stage_namespace)
            return denied(report.os_error, "make a mount namespace to stage in");
        if (report.stage == stage_clone)
            return denied(report.os_error, "clone the staged tree");
        return denied(report.os_error, "put "
                                           + branches[static_cast<std::size_t>(report.stage)].path
                                           + " into the tree");
    }
    DetachedTree assembled;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS)
        return Error(Errc::apply, "the process that stages mounts sent no tree");
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    std::array<int, most_parts + 1> fds = {};
    std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(int));
    assembled.tree.reset(fds[0]);
    for (std::size_t i = 1; i < count; ++i)
        assembled.parts.emplace_back(fds[i]);
    const bool all = assembled.tree && assembled.parts.size() == parts
                     && std::all_of(assembled.parts.begin(), assembled.parts.end(),
                                    [](const UniqueFd& part) { return static_cast<bool>(part); });
    if (!all) // the kernel leaves out what it has no number for
        return Error::from_errno(EMFILE, "take over the staged tree", Errc::apply);
    return assembled;
}

Result<DetachedTree> assemble_staged(const UniqueFd& base, const std::vector<Branch>& branches,
                                     const std::vector<std::string>& parts)
{
    std::array<int, 2> sockets = {};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        return Error::from_errno(errno, "socketpair", Errc::apply);
    const UniqueFd ours(sockets[0]);
    UniqueFd theirs(sockets[1]);
    if (!ours || !theirs)
        return Error::from_errno(errno, "socketpair", Errc::apply);

    Stage stage(base.get(), branches, parts);
    // Without a signal to the parent, and without the handlers that fork() runs.
    const long child = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child < 0)
        return Error::from_errno(errno, "start a process to stage mounts in", Errc::apply);
    if (child == 0) {
        stage.run(theirs.get());
        ::_exit(0);
    }
    theirs.reset();
    auto assembled = receive(ours.get(), branches, parts.size());
    while (::waitpid(static_cast<pid_t>(child), nullptr, __WALL) < 0 && errno == EINTR)
        continue;
    return assembled;
}

} // namespace

Result<DetachedTree> assemble(const Bench& bench, UniqueFd base,
                              const std::vector<Branch>& branches,
                              const std::vector<std::string>& parts)
{
    if (parts.size() > most_parts)
        return Error(Errc::internal, "more parts to clone than there is room for");
    if (way_of(bench.backend).takes_mounts)
        return assemble_here(bench, std::move(base), branches, parts);
    return assemble_staged(base, branches, parts);
}

} // namespace gpucontainer::mount
