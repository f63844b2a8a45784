// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include "base/c_handle.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::base {

namespace {

/// pread that continues after EINTR.
ssize_t read_at(int fd, char* to, std::size_t size, std::size_t offset)
{
    ssize_t got = -1;
    do
        got = ::pread(fd, to, size, static_cast<off_t>(offset));
    while (got < 0 && errno == EINTR);
    return got;
}

} // namespace

bool leaves_open(int os_error) noexcept
{
    constexpr std::array answers = {0,     ENOENT, ENOTDIR, EISDIR,       ELOOP,  EACCES,
                                    EXDEV, ENXIO,  ENODEV,  ENAMETOOLONG, EINVAL, EFBIG};
    return std::find(answers.begin(), answers.end(), os_error) == answers.end();
}

Result<std::string> read_all(int fd, std::size_t limit)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return Error::from_errno(errno, "read");
    if (!S_ISREG(status.st_mode))
        return Error::from_errno(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "read");
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > limit)
        return Error::from_errno(EFBIG, "read");

    // Files of procfs and sysfs report no size, or more than they hold.
    constexpr std::size_t first_guess = 4096;
    std::string content(size > 0 ? size : first_guess, '\0');
    std::size_t filled = 0;
    while (true) {
        const ssize_t got = read_at(fd, content.data() + filled, content.size() - filled, filled);
        if (got < 0)
            return Error::from_errno(errno, "read");
        filled += static_cast<std::size_t>(got);
        if (got == 0 && filled < content.size())
            break;
        if (filled < content.size())
            continue;
        if (content.size() > limit)
            return Error::from_errno(EFBIG, "read");
        content.resize(content.size() * 2 + 1);
    }
    content.resize(filled);
    return content;
}

Result<std::string> read_file(int dir_fd, const std::string& path, std::size_t limit)
{
    const UniqueFd file(
        ::openat(dir_fd, path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file)
        return Error::from_errno(errno, path).with_object(path);
    GPUCTR_TRY(std::string content, read_all(file.get(), limit), "{}", path);
    return content;
}

Result<std::string> read_file(const std::string& path, std::size_t limit)
{
    return read_file(AT_FDCWD, path, limit);
}

Result<std::string> read_link(int dir_fd, const std::string& path)
{
    std::array<char, PATH_MAX> text = {};
    const ssize_t length = ::readlinkat(dir_fd, path.c_str(), text.data(), text.size());
    if (length < 0)
        return Error::from_errno(errno, path).with_object(path);
    if (static_cast<std::size_t>(length) == text.size())
        return Error::from_errno(ENAMETOOLONG, path).with_object(path);
    return std::string(text.data(), static_cast<std::size_t>(length));
}

Result<void> visit_directory(int dir_fd, const std::string& path, std::size_t limit,
                             const std::function<void(std::string_view)>& visit)
{
    UniqueFd fd(::openat(dir_fd, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return Error::from_errno(errno, path).with_object(path);
    const CHandle<DIR, ::closedir> directory(::fdopendir(fd.get()));
    if (!directory)
        return Error::from_errno(errno, path).with_object(path);
    (void)fd.release(); // the stream owns it

    std::size_t count = 0;
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..")
            continue;
        if (count++ == limit)
            return Error::from_errno(EFBIG, path).with_object(path);
        visit(name);
        errno = 0;
    }
    if (errno != 0)
        return Error::from_errno(errno, path).with_object(path);
    return {};
}

Result<std::vector<std::string>> list_directory(int dir_fd, const std::string& path,
                                                std::size_t limit)
{
    std::vector<std::string> names;
    GPUCTR_CHECK(visit_directory(dir_fd, path, limit,
                                 [&](std::string_view name) { names.emplace_back(name); }));
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace gpucontainer::base
