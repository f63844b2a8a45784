// SPDX-License-Identifier: MIT
#include "capture/public_file.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace gpucontainer::capture {
namespace {

using base::UniqueFd;

constexpr const char* not_for_everybody = "not everybody may read it";

Result<void> require_for_everybody(int fd, mode_t type, mode_t bit)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return Error::from_errno(errno, "read");
    if ((status.st_mode & S_IFMT) != type)
        return Error::from_errno(type == S_IFDIR ? ENOTDIR : EINVAL, "read");
    if ((status.st_mode & bit) == 0)
        return Error(Errc::permission, not_for_everybody);
    return {};
}

} // namespace

Result<UniqueFd> open_public(const std::string& path)
{
    constexpr int flags = O_NOFOLLOW | O_CLOEXEC;
    UniqueFd here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto end = path.rfind('/');
    for (const std::string_view part : base::split(std::string_view(path).substr(0, end), '/')) {
        if (part.empty())
            continue;
        here = UniqueFd(::openat(here.get(), std::string(part).c_str(), O_PATH | flags));
        if (!here)
            return Error::from_errno(errno, "open");
        GPUCTR_CHECK(require_for_everybody(here.get(), S_IFDIR, S_IXOTH));
    }
    UniqueFd file(
        ::openat(here.get(), path.c_str() + end + 1, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags));
    if (!file)
        return Error::from_errno(errno, "open");
    GPUCTR_CHECK(require_for_everybody(file.get(), S_IFREG, S_IROTH));
    return file;
}

Result<std::string> read_public(const std::string& path, std::size_t limit)
{
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file)
        return Error::from_errno(errno, "open");
    GPUCTR_CHECK(require_for_everybody(file.get(), S_IFREG, S_IROTH));
    return base::read_all(file.get(), limit);
}

} // namespace gpucontainer::capture
