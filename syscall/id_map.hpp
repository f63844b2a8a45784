// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// The maps of ids of a user namespace: uid_map and gid_map of a process.
namespace gpucontainer::syscall {

/// `count` ids, which begin at `inside` in the namespace and at `outside` in its parent.
struct IdRange {
    std::uint32_t inside;
    std::uint32_t outside;
    std::uint32_t count;
};

/// The line of a map that has the id `inside`.
std::optional<IdRange> find_range(std::string_view map, std::uint32_t inside) noexcept;

/// Whether the map is that of the initial user namespace, which maps each id to itself.
bool is_initial_map(std::string_view map) noexcept;

/// Whether this process is in the initial user namespace. None, with errno, if /proc does not tell
/// it.
std::optional<bool> is_in_initial_user_namespace() noexcept;

} // namespace gpucontainer::syscall
