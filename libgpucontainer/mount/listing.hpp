// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"

/// Listings: the same view as an overlay of two directories, without an overlay. Nothing is
/// allocated, as in mount/calls.hpp.
namespace gpucontainer::mount {

/// The limit for both directories together. It is needed because an image may have any number.
inline constexpr unsigned most_listed = 1U << 16U;

/// Copies the names in `names_fd` to `listing_fd`, which is empty: links, directories with the same
/// modes, files with the same content. In these directories, it also makes the other names that
/// `covered_fd`, unless it is -1, has there: the same links, and empty files and directories to be
/// mounted over. False with errno; E2BIG for more than most_listed.
bool list_names(int listing_fd, int names_fd, int covered_fd) noexcept;

/// Bind mounts what `covered_fd` has over these, with all that is mounted below. Names of its own
/// mount are read-only, as in an overlay; other mounts stay as they are. The bind mounts are slaves
/// of their originals. `listing_fd` is the root of a mount that is attached where nobody else
/// reaches it.
bool mount_listed(const Bench& bench, int listing_fd, int names_fd, int covered_fd) noexcept;

} // namespace gpucontainer::mount
