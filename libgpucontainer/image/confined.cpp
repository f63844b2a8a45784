// SPDX-License-Identifier: MIT
#include "image/confined.hpp"

#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "image/confinement.hpp"
#include "image/messages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::image {
namespace {

using base::UniqueFd;

// -- In the process that reads ------------------------------------------------------------------

bool write_channel(const void* data, std::size_t size) noexcept
{
    const auto* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t got = ::write(channel_number, at, size);
        if (got <= 0)
            return false;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

bool reply(int error, std::string_view text = {}) noexcept
{
    const Header header = {error, static_cast<std::uint32_t>(text.size())};
    return write_channel(&header, sizeof header) && write_channel(text.data(), text.size());
}

bool reply_error(const Error& error) noexcept { return reply(os_error_of(error), error.object()); }

Result<std::string> answer(FileSystem& files, const Request& request)
{
    switch (request.question) {
    case Question::root: {
        GPUCTR_TRY(const Reference place, files.root());
        return to_text(place);
    }
    case Question::inode: {
        GPUCTR_TRY(const Inode inode, files.inode(request.place));
        return to_text(inode);
    }
    case Question::list: {
        GPUCTR_TRY(const auto names, files.list(request.place));
        return to_text(names);
    }
    case Question::variables: {
        GPUCTR_TRY(const auto variables, files.variables());
        return to_text(variables);
    }
    default: {
        std::string bytes(std::min<std::size_t>(request.size, FileSystem::largest_part), '\0');
        GPUCTR_TRY(const std::size_t got, files.read(request.place, request.offset, bytes));
        bytes.resize(got);
        return bytes;
    }
    }
}

/// Answers until the other end is closed. Returns false if it has to end before.
bool serve(const Opener& open)
{
    auto files = open(image_number);
    if (!(files ? reply(0) : reply_error(files.error())) || !files)
        return false;
    Request request;
    // A socket delivers so little at once, or nothing.
    while (::read(channel_number, &request, sizeof request) == sizeof request) {
        const auto answered = answer(**files, request);
        if (!(answered ? reply(0, *answered) : reply_error(answered.error())))
            return false;
    }
    return true;
}

[[noreturn]] void become_reader(int channel, int image, const Opener& open,
                                const Limits& limits) noexcept
{
    const int error = confine_process(channel, image, limits);
    // Another number than those of a file system: what is missing is not the image's fault.
    if (error != 0)
        (void)reply(-error);
    else
        try {
            (void)serve(open);
        } catch (const std::bad_alloc&) {
            (void)reply(EBADMSG);
        }
    ::_exit(0);
}

// -- In the caller's ----------------------------------------------------------------------------

/// A child of this process.
class Child {
public:
    explicit Child(pid_t pid) noexcept
        : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))
    {
        // Who ignores SIGCHLD has no child any more once it ended, and another may have its number.
        siginfo_t state = {};
        if (pidfd_
            && ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &state,
                        WEXITED | WNOHANG | WNOWAIT)
                   != 0)
            pidfd_.reset();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    /// It may be busy, so it is not waited for as it is.
    ~Child()
    {
        if (pidfd_)
            (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
        else if (::waitpid(pid_, nullptr, WNOHANG) == 0)
            (void)::kill(pid_, SIGKILL);
        else
            return;
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
            continue;
    }

private:
    pid_t pid_;
    UniqueFd pidfd_;
};

/// A file system that a process reads.
class Confined final : public FileSystem {
public:
    Confined(UniqueFd channel, pid_t pid, unsigned waiting_seconds)
        : channel_(std::move(channel)), child_(pid),
          patience_(std::chrono::seconds(waiting_seconds))
    {
    }

    Result<void> begin();
    Result<Reference> root() override
    {
        GPUCTR_TRY(const std::string text, ask({Question::root}));
        return read_reference(text);
    }
    Result<Inode> inode(Reference place) override
    {
        GPUCTR_TRY(const std::string text, ask({Question::inode, 0, place}));
        return read_inode(text);
    }
    Result<std::vector<Name>> list(Reference directory) override
    {
        GPUCTR_TRY(const std::string text, ask({Question::list, 0, directory}));
        return read_names(text);
    }
    Result<std::size_t> read(Reference file, std::uint64_t offset, std::span<char> bytes) override
    {
        const auto size = static_cast<std::uint32_t>(std::min(bytes.size(), largest_part));
        GPUCTR_TRY(const std::string text, ask({Question::read, size, file, offset}));
        if (text.size() > size)
            return error_of(EBADMSG);
        std::memcpy(bytes.data(), text.data(), text.size());
        return text.size();
    }
    Result<std::vector<std::string>> variables() override
    {
        GPUCTR_TRY(const std::string text, ask({Question::variables}));
        return read_variables(text);
    }

private:
    Result<std::string> ask(const Request& request);
    Result<std::string> receive();
    bool fill(void* data, std::size_t size) noexcept;
    bool wait() noexcept;

    UniqueFd channel_; ///< None once the process failed.
    Child child_;
    std::chrono::steady_clock::duration patience_; ///< What is left.
};

/// Until something can be read. False if all patience is used up.
bool Confined::wait() noexcept
{
    using std::chrono::steady_clock;
    while (patience_ > steady_clock::duration::zero()) {
        const auto start = steady_clock::now();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(patience_);
        pollfd readable = {channel_.get(), POLLIN, 0};
        const int got = ::poll(&readable, 1, static_cast<int>(left.count()));
        patience_ -= steady_clock::now() - start;
        if (got > 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
    }
    return false;
}

bool Confined::fill(void* data, std::size_t size) noexcept
{
    auto* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t got = ::recv(channel_.get(), at, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || (errno == EAGAIN && wait())))
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

Result<std::string> Confined::receive()
{
    Header header;
    std::string text;
    const bool has_header = fill(&header, sizeof header);
    if (has_header && header.size <= largest_answer)
        text.resize(header.size);
    if (!has_header || header.size > largest_answer || !fill(text.data(), text.size())) {
        channel_.reset();
        return error_of(EBADMSG);
    }
    if (header.error < 0)
        return Error::from_errno(-header.error, "confine a process that reads an image",
                                 Errc::requirement)
            .with_hint("seccomp filters and /proc are needed; or name a directory");
    if (header.error > 0)
        return error_of(header.error, text);
    return text;
}

Result<std::string> Confined::ask(const Request& request)
{
    if (!channel_)
        return error_of(EBADMSG);
    ssize_t sent = 0;
    do
        sent = ::send(channel_.get(), &request, sizeof request, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent != sizeof request) {
        channel_.reset();
        return error_of(EBADMSG);
    }
    return receive();
}

Result<void> Confined::begin()
{
    GPUCTR_TRY(const std::string nothing, receive());
    return {};
}

} // namespace

Result<std::unique_ptr<FileSystem>> open_confined(int image, const Opener& open,
                                                  const Limits& limits)
{
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return Error::from_errno(errno, "start a process that reads an image", Errc::requirement);
    UniqueFd own(ends[0]);
    UniqueFd other(ends[1]);
    // fork() and no bare clone(): the library allocates memory, and another thread of the caller
    // may hold the allocator's locks now.
    const pid_t child = ::fork();
    if (child == 0)
        become_reader(other.get(), image, open, limits);
    if (child < 0)
        return Error::from_errno(errno, "start a process that reads an image", Errc::requirement);
    auto confined = std::make_unique<Confined>(std::move(own), child, limits.waiting_seconds);
    // Else the end of the process would not be the end of what it says.
    other.reset();
    GPUCTR_CHECK(confined->begin());
    return std::unique_ptr<FileSystem>(std::move(confined));
}

} // namespace gpucontainer::image
