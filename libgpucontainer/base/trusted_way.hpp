// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace gpucontainer::base {

/// Device and inode.
using FileId = std::pair<std::uint64_t, std::uint64_t>;

/// Checks that an open file can be trusted: it belongs to root or to the caller, nobody else may
/// write it, and it is on a file system whose owners can be trusted. If that is in a file, as on a
/// loop device, the same holds for the file and its way. Errors: permission.
Result<void> check_trust(int fd, const std::string& path);

/// Walks a path by descriptors, and checks each directory and link on it: what was checked is what
/// is entered. A link on a file system whose owners cannot be trusted is not followed (permission),
/// because on procfs, for example, it may lead anywhere.
struct TrustedWay {
    /// A relative path begins at the working directory; all directories above that are in
    /// `passed` too. A directory or regular file is opened with `flags`, anything else with
    /// O_PATH.
    static Result<TrustedWay> walk(const std::string& path, int flags);

    /// Makes the directories of `missing`, with this mode whatever the umask is, and enters no
    /// link. Returns how many it made: somebody else may make one meanwhile, so the path has to be
    /// walked again. Errors: apply, with the system's number.
    Result<std::size_t> make_missing(mode_t mode) const;

    UniqueFd fd;                ///< What the path leads to; none if it is missing.
    UniqueFd directory;         ///< The last directory on the way, with O_PATH.
    std::string missing;        ///< The rest of the path that does not exist.
    std::vector<FileId> passed; ///< All directories, including the last one.
    /// Why the first directory or link is not trusted: it belongs to somebody else, or others may
    /// write the directory and it is not sticky. In a sticky directory nobody can rename or remove
    /// the files of others. `fd` itself is not checked.
    std::optional<Error> distrust;
};

} // namespace gpucontainer::base
