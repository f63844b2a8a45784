// SPDX-License-Identifier: MIT
#include "tree.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::simhost {
namespace {

std::string relative(std::string_view path)
{
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    return std::string(path);
}

Error error_at(std::string_view what, const std::string& path)
{
    return Error::from_errno(errno, base::format("{} {}", what, path));
}

} // namespace

Result<void> Tree::directory(std::string_view path)
{
    const std::string name = relative(path);
    if (name.empty() || made_.count(name) != 0)
        return {};
    if (const auto slash = name.rfind('/'); slash != std::string::npos)
        GPUCTR_CHECK(directory(name.substr(0, slash)));
    constexpr mode_t mode = 0755;
    if (::mkdirat(fd(), name.c_str(), mode) != 0 && (errno != EEXIST || !has_directory(name)))
        return error_at("create directory", name);
    made_.insert(name);
    return {};
}

template <typename Create>
Result<void> Tree::put(std::string_view what, const std::string& path, Create&& create)
{
    if (const auto slash = path.rfind('/'); slash != std::string::npos)
        GPUCTR_CHECK(directory(path.substr(0, slash)));
    if (create())
        return {};
    if (errno != EEXIST || ::unlinkat(fd(), path.c_str(), 0) != 0 || !create())
        return error_at(what, path);
    return {};
}

Result<void> Tree::file(std::string_view path, std::string_view content, mode_t mode,
                        std::uint64_t size)
{
    const std::string name = relative(path);
    base::UniqueFd file;
    GPUCTR_CHECK(put("create file", name, [&] {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        file.reset(::openat(fd(), name.c_str(), flags, 0600));
        return static_cast<bool>(file);
    }));
    const std::size_t length = content.size();
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return error_at("write", name);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (size > length && ::ftruncate(file.get(), static_cast<off_t>(size)) != 0)
        return error_at("lengthen", name);
    if (::fchmod(file.get(), mode) != 0) // the umask has no say
        return error_at("set the mode of", name);
    return {};
}

Result<void> Tree::link(std::string_view path, const std::string& target)
{
    const std::string name = relative(path);
    return put("create link", name,
               [&] { return ::symlinkat(target.c_str(), fd(), name.c_str()) == 0; });
}

Result<void> Tree::node(std::string_view path, mode_t mode, dev_t device)
{
    const std::string name = relative(path);
    return put("mknod", name, [&] { return ::mknodat(fd(), name.c_str(), mode, device) == 0; });
}

Result<void> Tree::whiteout(std::string_view path)
{
    return node(path, S_IFCHR, 0); // what overlayfs takes as "not here"
}

bool Tree::has(std::string_view path) const
{
    return ::faccessat(fd(), relative(path).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Tree::has_directory(std::string_view path) const
{
    struct stat status = {};
    return ::fstatat(fd(), relative(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0
           && S_ISDIR(status.st_mode);
}

} // namespace gpucontainer::simhost
