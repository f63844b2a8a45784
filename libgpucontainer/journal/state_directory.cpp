// SPDX-License-Identifier: MIT
#include "journal/state_directory.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/position.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::journal {

Error StateDirectory::unusable() const
{
    return Error::from_errno(errno, "journal directory " + path_, Errc::apply)
        .with_object(path_)
        .with_argument("state_dir")
        .with_hint("name a directory that you may write with --state-dir; a runtime's hook takes "
                   "--no-journal");
}

Result<void> StateDirectory::check_outside(int rootfs_fd) const
{
    if (rootfs_fd < 0)
        return {};
    struct stat root = {};
    if (::fstat(rootfs_fd, &root) != 0)
        return Error::from_errno(errno, "root file system", Errc::rootfs)
            .with_argument("rootfs_fd");
    const base::FileId id(root.st_dev, root.st_ino);
    const bool passed = std::ranges::find(way_.passed, id) != way_.passed.end();
    if (rootfs::Root::is_callers(root.st_dev, root.st_ino)
        || (!passed && !mount::lies_within(way_.directory.get(), rootfs_fd)))
        return {};
    return Error(Errc::usage, "journal directory " + path_
                                  + ": inside the root file system, where it is not safe")
        .with_object(path_)
        .with_argument("state_dir");
}

/// As far as there is something of it.
Result<StateDirectory> StateDirectory::look(const std::string& path, int rootfs_fd)
{
    StateDirectory directory(path);
    auto way = base::TrustedWay::walk(path, O_RDONLY | O_DIRECTORY);
    if (!way && way.error().os_error() == 0)
        return std::move(way).error().context("journal directory");
    if (!way) {
        errno = way.error().os_error();
        return directory.unusable();
    }
    directory.way_ = *std::move(way);
    GPUCTR_CHECK(directory.check_outside(rootfs_fd));
    return directory;
}

/// Makes the missing directories.
Result<void> StateDirectory::make_missing() const
{
    constexpr mode_t private_directory = 0700;
    const auto made = way_.make_missing(private_directory);
    if (made)
        return {};
    errno = made.error().os_error();
    return unusable();
}

/// Other errors may be a seccomp filter's.
Result<void> StateDirectory::require_writable() const
{
    const int last = way_.fd ? way_.fd.get() : way_.directory.get();
    if (::faccessat(last, ".", W_OK | X_OK, AT_EACCESS) == 0 || (errno != EROFS && errno != EACCES))
        return {};
    return unusable();
}

Result<std::optional<StateDirectory>> StateDirectory::open(const std::string& path, int rootfs_fd)
{
    GPUCTR_TRY(auto directory, look(path, rootfs_fd));
    base::TrustedWay& way = directory.way_;
    if (!way.fd)
        return std::optional<StateDirectory>();
    if (way.distrust)
        return std::move(*way.distrust).context("journal directory");
    GPUCTR_CHECK(base::check_trust(way.fd.get(), path), "journal directory");
    return std::optional(std::move(directory));
}

Result<StateDirectory> StateDirectory::create(const std::string& path, int rootfs_fd)
{
    GPUCTR_TRY(auto directory, look(path, rootfs_fd));
    base::TrustedWay& way = directory.way_;
    if (way.distrust)
        return std::move(*way.distrust).context("journal directory");
    if (!way.fd)
        GPUCTR_CHECK(directory.make_missing());
    GPUCTR_TRY(auto opened, open(path, rootfs_fd));
    if (opened)
        return *std::move(opened);
    errno = ENOENT;
    return directory.unusable();
}

Result<std::optional<StateDirectory>> StateDirectory::foresee(const std::string& path,
                                                              int rootfs_fd)
{
    GPUCTR_TRY(auto directory, look(path, rootfs_fd));
    if (directory.way_.distrust)
        return std::move(*directory.way_.distrust).context("journal directory");
    GPUCTR_CHECK(directory.require_writable());
    return open(path, rootfs_fd);
}

} // namespace gpucontainer::journal
