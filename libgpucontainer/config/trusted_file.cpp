// SPDX-License-Identifier: MIT
#include "config/trusted_file.hpp"

#include "base/file.hpp"
#include "base/trusted_way.hpp"
#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::config {
namespace {

using base::UniqueFd;

constexpr std::size_t max_file_size = 256UL << 10U;

/// Before its mode is looked at: everybody may write to some devices, and that is to stay so.
Result<void> check_is_regular(int fd, const std::string& path)
{
    struct stat status = {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return {};
    return Error(Errc::usage, path + ": not a regular file").with_object(path);
}

/// An invalid descriptor when nothing is there: then nothing on the way matters.
Result<UniqueFd> open_trusted(const std::string& path, int flags)
{
    auto way = base::TrustedWay::walk(path, O_RDONLY | flags);
    if (!way && way.error().os_error() == ENOTDIR && (flags & O_DIRECTORY) == 0)
        return UniqueFd();
    if (!way)
        return std::move(way).error();
    if (way->fd && way->distrust)
        return *std::move(way->distrust);
    if (way->fd && (flags & O_DIRECTORY) == 0)
        GPUCTR_CHECK(check_is_regular(way->fd.get(), path));
    if (way->fd)
        GPUCTR_CHECK(base::check_trust(way->fd.get(), path));
    return std::move(way->fd);
}

} // namespace

Result<std::optional<std::string>> read_trusted(const std::string& path)
{
    GPUCTR_TRY(const UniqueFd fd, open_trusted(path, 0));
    if (!fd)
        return std::optional<std::string>();
    auto text = base::read_all(fd.get(), max_file_size);
    if (!text)
        return std::move(text).error().with_code(Errc::usage).context(path);
    return std::optional(*std::move(text));
}

Result<std::vector<std::string>> list_trusted(const std::string& directory)
{
    GPUCTR_TRY(const UniqueFd fd, open_trusted(directory, O_DIRECTORY));
    if (!fd)
        return std::vector<std::string>();
    GPUCTR_TRY(std::vector<std::string> paths, base::list_directory(fd.get(), "."), "{}",
               directory);
    for (std::string& path : paths)
        path.insert(0, directory + "/");
    return paths;
}

} // namespace gpucontainer::config
