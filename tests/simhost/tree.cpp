// SPDX-License-Identifier: MIT
#include "tree.hpp"

#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "recording.hpp"

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

Result<int> Tree::open_directory(const std::string& path)
{
    if (path.empty())
        return fd();
    if (path == opened_path_ && opened_)
        return opened_.get();
    opened_.reset(base::open_beneath(fd(), path.c_str(), O_PATH | O_DIRECTORY));
    if (!opened_)
        return error_at("open directory", path);
    opened_path_ = path;
    return opened_.get();
}

Result<void> Tree::directory(std::string_view path)
{
    const std::string name = relative(path);
    if (name.empty() || made_.count(name) != 0)
        return {};
    if (!is_plain_path("/" + name))
        return Error(Errc::usage, base::format("no plain path: {}", name));
    const std::string above(base::directory_of(name));
    GPUCTR_CHECK(directory(above));
    GPUCTR_TRY(const int parent, open_directory(above));
    constexpr mode_t mode = 0755;
    const bool is_made = ::mkdirat(parent, base::name_of(name).data(), mode) == 0;
    if (!is_made && (errno != EEXIST || !has_directory(name)))
        return error_at("create directory", name);
    made_.insert(name);
    return is_made ? give_away(parent, base::name_of(name).data()) : Result<void>();
}

template <typename Create>
Result<void> Tree::put(std::string_view what, const std::string& path, Create&& create)
{
    if (!is_plain_path("/" + path))
        return Error(Errc::usage, base::format("{}: no plain path: {}", what, path));
    const std::string above(base::directory_of(path));
    GPUCTR_CHECK(directory(above));
    GPUCTR_TRY(const int parent, open_directory(above));
    const char* const name = base::name_of(path).data(); // the end of `path`
    if (!create(parent, name)
        && (errno != EEXIST || ::unlinkat(parent, name, 0) != 0 || !create(parent, name)))
        return error_at(what, path);
    return give_away(parent, name);
}

Result<void> Tree::give_away(int parent, const char* name) const
{
    if (owner_ != 0 && ::fchownat(parent, name, owner_, owner_, AT_SYMLINK_NOFOLLOW) != 0)
        return error_at("give away", name);
    return {};
}

Result<void> Tree::file(std::string_view path, std::string_view content, mode_t mode,
                        std::uint64_t size)
{
    const std::string name = relative(path);
    base::UniqueFd file;
    GPUCTR_CHECK(put("create file", name, [&](int parent, const char* last) {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        file.reset(::openat(parent, last, flags, 0600));
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
    return put("create link", relative(path), [&](int parent, const char* name) {
        return ::symlinkat(target.c_str(), parent, name) == 0;
    });
}

Result<void> Tree::node(std::string_view path, mode_t mode, dev_t device)
{
    return put("mknod", relative(path), [&](int parent, const char* name) {
        return ::mknodat(parent, name, mode, device) == 0;
    });
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
