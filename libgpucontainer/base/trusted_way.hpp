// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::base {

/// Device and inode.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

/// Whether what an open file says decides for its reader: it belongs to root or to the
/// caller, nobody else may write it, and it is on a file system whose owners are true.
/// Errors: permission.
Result<void> check_trust(int fd, const std::string& path);

/// Where a path leads, walked by descriptor: what was looked at is what is gone into. A
/// link on a file system whose owners prove nothing is not followed: permission. Of
/// procfs one may lead anywhere.
struct TrustedWay {
    /// A relative path begins at the working directory, and all above that counts as
    /// passed. Only a directory or a regular file is opened with `flags`; of anything else
    /// there is an O_PATH descriptor.
    static Result<TrustedWay> walk(const std::string& path, int flags);

    UniqueFd fd;                ///< What the path leads to; none where that is missing.
    UniqueFd directory;         ///< The last directory on the way, with O_PATH.
    std::string missing;        ///< The rest of the path, of which nothing is there.
    std::vector<FileId> passed; ///< All directories, the last one too.
    /// Why the first that is not trusted is not: a directory that others may write and that
    /// is not sticky, or belongs to somebody else, or a link of somebody else. Sticky
    /// directories let nobody rename or remove what another user has there. It says
    /// nothing of `fd`.
    std::optional<Error> distrust;
};

} // namespace gpucontainer::base
