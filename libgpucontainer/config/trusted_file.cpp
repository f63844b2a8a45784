// SPDX-License-Identifier: MIT
#include "config/trusted_file.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::config {
namespace {

constexpr std::size_t max_bytes = 256UL << 10U;

/// In a user namespace the owner of a file may have no number: the kernel shows
/// this one, and root of the host cannot be told from anybody else. Nothing is
/// at stake there but the caller's own rights.
bool may_be_root_outside(uid_t owner)
{
    const auto overflow = base::read_file("/proc/sys/kernel/overflowuid");
    const auto map = base::read_file("/proc/self/uid_map");
    if (!overflow || !map || base::to_number(base::trim(*overflow)) != owner)
        return false;
    constexpr std::string_view everybody = "4294967295";
    return !base::trim(*map).ends_with(everybody);
}

/// An invalid descriptor when nothing is there.
Result<base::UniqueFd> open_trusted(const std::string& path, int flags, struct stat& status)
{
    base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags));
    if (!fd && (errno == ENOENT || (errno == ENOTDIR && (flags & O_DIRECTORY) == 0)))
        return fd;
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return Error::from_errno(errno, path, Errc::usage).with_object(path);
    GPUCTR_CHECK(check_trust(status, path));
    return fd;
}

} // namespace

Result<void> check_trust(const struct stat& status, const std::string& path)
{
    const uid_t owner = status.st_uid;
    if (owner != 0 && owner != ::geteuid() && !may_be_root_outside(owner))
        return Error(Errc::permission, fmt::format("{}: belongs to user {}", path, owner))
            .with_object(path)
            .with_hint("what it says is followed only when it belongs to root or to the caller");
    if ((status.st_mode & S_IWOTH) != 0)
        return Error(Errc::permission, fmt::format("{}: everybody may write it", path))
            .with_object(path)
            .with_hint("take the permission away: chmod o-w " + path);
    return {};
}

Result<std::optional<std::string>> read_trusted(const std::string& path)
{
    struct stat status = {};
    GPUCTR_TRY(const base::UniqueFd fd, open_trusted(path, 0, status));
    if (!fd)
        return std::optional<std::string>();
    if (!S_ISREG(status.st_mode))
        return Error(Errc::usage, path + ": not a regular file").with_object(path);
    auto text = base::read_all(fd.get(), max_bytes);
    if (!text)
        return std::move(text).error().with_code(Errc::usage).context(path);
    return std::optional(*std::move(text));
}

Result<std::vector<std::string>> list_trusted(const std::string& directory)
{
    struct stat status = {};
    GPUCTR_TRY(const base::UniqueFd fd, open_trusted(directory, O_DIRECTORY, status));
    if (!fd)
        return std::vector<std::string>();
    GPUCTR_TRY(std::vector<std::string> paths, base::list_directory(fd.get(), "."), "{}",
               directory);
    for (std::string& path : paths)
        path.insert(0, directory + "/");
    return paths;
}

} // namespace gpucontainer::config
