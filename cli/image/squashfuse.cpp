// SPDX-License-Identifier: MIT
#include "image/squashfuse.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

/// The first of these that there is: by its low-level interface it is faster.
constexpr std::array programs = {"squashfuse_ll", "squashfuse"};
/// Where it is looked for after PATH. Apptainer's packages bring their own.
constexpr const char* other_directories =
    "/usr/local/bin:/usr/bin:/usr/libexec/apptainer/bin:/usr/local/libexec/apptainer/bin";

std::string find_program()
{
    const char* const path = ::secure_getenv("PATH");
    const std::string directories =
        formatted("{}:{}", path == nullptr ? "" : path, other_directories);
    for (const char* const program : programs) {
        std::istringstream parts(directories);
        for (std::string directory; std::getline(parts, directory, ':');)
            if (std::string file = directory + "/" + program;
                directory.starts_with('/') && ::access(file.c_str(), X_OK) == 0)
                return file;
    }
    throw gpucontainer::Error(
        GPUCTR_E_REQUIREMENT, "squashfuse is not installed, which reads images for ordinary users",
        "install it (package squashfuse), or unpack the image: unsquashfs, or apptainer build "
        "--sandbox DIR IMAGE",
        0);
}

/// Exit status of a process that could not become squashfuse.
constexpr int not_started = 127;

struct Envelope {
    char byte = 0;
    iovec content = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};

    Envelope()
    {
        message.msg_iov = &content;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
};

/// The descriptor that comes through the channel; -1 if it is closed before.
int receive(int channel)
{
    Envelope envelope;
    ssize_t count = 0;
    do
        count = ::recvmsg(channel, &envelope.message, 0);
    while (count < 0 && errno == EINTR);
    const cmsghdr* const header = count > 0 ? CMSG_FIRSTHDR(&envelope.message) : nullptr;
    int fd = -1;
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
        std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

/// Leaves the caller's descriptors behind, which shall end with CMD, but for the image, which
/// becomes standard input, and the channel. Its new number; -1 if that fails.
int keep_only(int image, int channel)
{
    constexpr int first = STDERR_FILENO + 1;
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (::dup2(image, STDIN_FILENO) < 0 || ::dup2(null, STDOUT_FILENO) < 0
        || ::dup2(null, STDERR_FILENO) < 0 || ::dup2(channel, first) < 0)
        return -1;
    ::closefrom(first + 1);
    return first;
}

/// Of the process that becomes squashfuse. It has to outlive signals that a terminal sends to CMD.
[[noreturn]] void become_server(int channel, int image, const std::string& program,
                                std::vector<std::string> words) noexcept
try {
    (void)::setsid();
    (void)::chdir("/");
    // It reads what others made: not with the ambient capabilities of this user.
    gpucontainer::harden(0);
    channel = keep_only(image, channel);
    const int device = receive(channel);
    // Inherited, and named by its number.
    if (device < 0 || ::close(channel) != 0 || ::fcntl(device, F_SETFD, 0) != 0)
        ::_exit(not_started);
    words.push_back(formatted("/proc/self/fd/{}", STDIN_FILENO));
    words.push_back(formatted("/dev/fd/{}", device));
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string path = "PATH=/usr/bin:/bin";
    const std::array<char*, 2> environment = {path.data(), nullptr};
    ::execve(program.c_str(), arguments.data(), environment.data());
    ::_exit(not_started);
} catch (const std::exception&) {
    ::_exit(not_started);
}

} // namespace

Squashfuse Squashfuse::start(const ImageFile& image)
{
    const std::string program = find_program();
    std::array<int, 2> ends = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        fail("make a socket", GPUCTR_E_APPLY);
    Fd ours(ends[0]);
    const Fd theirs(ends[1]);
    const std::vector<std::string> words = {program, "-f", "-o",
                                            formatted("offset={}", image.offset)};
    const pid_t child = ::fork();
    if (child < 0)
        fail("start " + program, GPUCTR_E_APPLY);
    if (child == 0) {
        // Its parent ends at once, so that CMD is left no child that it does not know.
        if (const pid_t server = ::fork(); server != 0)
            ::_exit(server < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
        ours.reset();
        become_server(theirs.get(), image.file.get(), program, words);
    }
    int status = 0;
    // Without a status if the caller ignores SIGCHLD: then serve() finds out.
    while (::waitpid(child, &status, 0) < 0 && errno != ECHILD)
        if (errno != EINTR)
            fail("start " + program, GPUCTR_E_APPLY);
    if (status != 0)
        throw gpucontainer::Error(GPUCTR_E_APPLY, "start " + program + ": no process can be made",
                                  "", EAGAIN);
    return Squashfuse(std::move(ours));
}

void Squashfuse::serve(Fd device)
{
    Envelope envelope;
    cmsghdr* const header = CMSG_FIRSTHDR(&envelope.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = device.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (::sendmsg(channel_.get(), &envelope.message, MSG_NOSIGNAL) < 0)
        fail("hand the mount to squashfuse", GPUCTR_E_APPLY);
}

} // namespace gpuctr_cli
