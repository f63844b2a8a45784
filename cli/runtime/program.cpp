// SPDX-License-Identifier: MIT
#include "runtime/program.hpp"

#include "process/descriptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuctr_cli {
namespace {

constexpr std::string_view path_variable = "PATH=";
constexpr std::string_view execvp_path = "/bin:/usr/bin"; // execvp()'s own
constexpr const char* shell = "/bin/sh";

/// The root directory, and the working directory in it.
class Place {
public:
    explicit Place(std::string directory)
        : root_(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)), directory_(std::move(directory))
    {
    }

    /// No descriptor, and errno, on failure; ELOOP if the path leads through a magic link.
    Fd open(const std::string& path, int flags) const
    {
        try {
            return Fd(gpucontainer::open_in_root(
                root_.get(), path.starts_with('/') ? path : directory_ + "/" + path, flags));
        } catch (const gpucontainer::Error& error) {
            errno = error.os_error();
            return {};
        }
    }

private:
    Fd root_;
    std::string directory_;
};

/// The interpreter in the first line of a script; empty if it is no script or is unreadable.
std::string interpreter_of(const Place& place, const std::string& path)
{
    struct stat status = {};
    const Fd found = place.open(path, O_PATH);
    if (!found || ::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return "";
    // The kernel reads no more.
    std::array<char, 256> start = {};
    const Fd file = place.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    const ssize_t length = file ? ::read(file.get(), start.data(), start.size()) : -1;
    std::string_view line(start.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
    if (!line.starts_with("#!"))
        return "";
    line = line.substr(2, line.find('\n') - 2);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of({" \t\0", 3})));
}

/// False if the program or an interpreter of it is behind a magic link. Other faults are left to
/// execve() to report.
bool is_of_the_image(const Place& place, std::string path)
{
    constexpr int most_interpreters = 5; // the kernel's limit
    for (int i = 0; i <= most_interpreters && !path.empty(); ++i) {
        if (!place.open(path, O_PATH) && errno == ELOOP)
            return false;
        path = interpreter_of(place, path);
    }
    return true;
}

/// Executes one file. Returns only on failure, with errno.
void try_file(const Place& place, const std::string& path, std::vector<char*> arguments,
              char* const* environment)
{
    if (!is_of_the_image(place, path)) {
        errno = ELOOP;
        return;
    }
    (void)::execve(path.c_str(), arguments.data(), environment);
    if (errno != ENOEXEC)
        return;
    // A script without "#!" is run by the shell, as by execvp().
    std::string name = path;
    std::string program = shell;
    arguments.front() = name.data();
    arguments.insert(arguments.begin(), program.data());
    errno = ELOOP;
    if (is_of_the_image(place, shell))
        (void)::execve(shell, arguments.data(), environment);
}

std::string_view search_path(char* const* environment)
{
    for (; *environment != nullptr; ++environment)
        if (const std::string_view variable = *environment; variable.starts_with(path_variable))
            return variable.substr(path_variable.size());
    return execvp_path;
}

/// Whether to try the next directory of PATH.
bool may_be_elsewhere(int error)
{
    return error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE
           || error == ENODEV || error == ETIMEDOUT;
}

} // namespace

void execute_program(const std::vector<std::string>& command_line, char* const* environment,
                     const std::string& directory)
{
    std::vector<std::string> words = command_line;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

    const Place place(directory);
    const std::string& name = command_line.front();
    if (name.empty() || name.find('/') != std::string::npos)
        return try_file(place, name, arguments, environment);
    bool denied = false;
    std::string_view path = search_path(environment);
    for (bool last = false; !last;) {
        const std::size_t end = std::min(path.find(':'), path.size());
        std::string file(path.substr(0, end));
        if (!file.empty())
            file += '/';
        file += name;
        last = end == path.size();
        path.remove_prefix(last ? end : end + 1);
        try_file(place, file, arguments, environment);
        if (!may_be_elsewhere(errno))
            return;
        denied = denied || errno == EACCES;
    }
    errno = denied ? EACCES : ENOENT;
}

} // namespace gpuctr_cli
