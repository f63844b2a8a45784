// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/trusted_way.hpp"
#include "base/unique_fd.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::journal {

/// The directory that journals are kept in: only root or the caller can have written it,
/// and it is no part of a root file system that they are about. What lies in an image is
/// what its maker says.
class StateDirectory {
public:
    /// A relative path is one from the working directory. None where it is missing. Errors:
    /// permission for what others may write; usage as of check_outside().
    static Result<std::optional<StateDirectory>> open(const std::string& path, int rootfs_fd);
    /// Same, and makes what is missing of it, private to its owner.
    static Result<StateDirectory> create(const std::string& path, int rootfs_fd);

    int fd() const noexcept { return way_.fd.get(); }
    const std::string& path() const noexcept { return path_; }

    /// That its path does not lead through a root directory, by whatever names and mounts, or
    /// to a mount of a directory within that. -1, and the root directory that the caller has,
    /// contain nothing. Errors: usage.
    Result<void> check_outside(int rootfs_fd) const;

    /// What errno says of it.
    Error unusable() const;

private:
    explicit StateDirectory(std::string path) : path_(std::move(path)) {}

    static Result<StateDirectory> look(const std::string& path, int rootfs_fd);
    Result<void> make_missing() const;

    std::string path_;
    base::TrustedWay way_;
};

} // namespace gpucontainer::journal
