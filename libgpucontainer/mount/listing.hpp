// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"

/// What an overlay of two directories shows, without one. As free of allocation as the
/// calls in mount/calls.hpp.
namespace gpucontainer::mount {

/// Of both directories together. What an image has is its maker's choice.
inline constexpr unsigned most_listed = 1U << 16U;

/// Makes the names of the directory of `names_fd` in that of `listing_fd`, which is empty:
/// links, directories with the same modes, files with the same content; and besides, in it
/// and below, those that `covered_fd`, unless -1, has at the same place. Of these, links are
/// the same links, and all else is there to be mounted over. False with errno; E2BIG for more
/// than most_listed.
bool list_names(int listing_fd, int names_fd, int covered_fd) noexcept;

/// Mounts on those what `covered_fd` has there, with all that is mounted below it: of its own
/// mount read-only, as an overlay would show it; what is a mount already, as it is. The mounts
/// are slaves of those that they show. `listing_fd` is the root of a mount that is attached
/// where nobody else reaches it.
bool mount_listed(const Bench& bench, int listing_fd, int names_fd, int covered_fd) noexcept;

} // namespace gpucontainer::mount
