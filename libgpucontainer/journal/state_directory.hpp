// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/trusted_way.hpp"
#include "base/unique_fd.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::journal {

/// The directory of the journals. Only root or the caller can have written it. It is not in a root
/// file system that the journals are about, because an image can contain anything.
class StateDirectory {
public:
    /// Opens it; a relative path begins at the working directory. None if it is missing. Errors:
    /// permission, if others may write it; usage, as in check_outside().
    static Result<std::optional<StateDirectory>> open(const std::string& path, int rootfs_fd);
    /// The same, but creates missing directories, private to their owner.
    static Result<StateDirectory> create(const std::string& path, int rootfs_fd);
    /// Opens it like open(). Errors: also those of create(), as far as they are known without
    /// creating anything.
    static Result<std::optional<StateDirectory>> foresee(const std::string& path, int rootfs_fd);

    int fd() const noexcept { return way_.fd.get(); }
    const std::string& path() const noexcept { return path_; }

    /// Checks that its path does not lead through a root directory, by any names and mounts, or to
    /// a mount of a directory in it. -1, and the caller's own root directory, are not checked.
    /// Errors: usage.
    Result<void> check_outside(int rootfs_fd) const;

    /// Whether names can be created in it, or as long as it is missing, in the directory above.
    Result<void> require_writable() const;

    /// An error from errno.
    Error unusable() const;

private:
    explicit StateDirectory(std::string path) : path_(std::move(path)) {}

    static Result<StateDirectory> look(const std::string& path, int rootfs_fd);
    Result<void> make_missing() const;

    std::string path_;
    base::TrustedWay way_;
};

} // namespace gpucontainer::journal
