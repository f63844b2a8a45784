// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// The ids of a user namespace: uid_map and gid_map of a process.
namespace gpucontainer::syscall {

/// `count` ids from `inside` on are those from `outside` on in the namespace around it.
struct IdRange {
    std::uint32_t inside;
    std::uint32_t outside;
    std::uint32_t count;
};

/// The line of a map that has the id `inside`.
std::optional<IdRange> find_range(std::string_view map, std::uint32_t inside) noexcept;

/// Whether the map is that of the initial user namespace, where all ids are themselves.
bool is_initial_map(std::string_view map) noexcept;

/// Whether this process is in the initial user namespace. None, with errno, if /proc does not
/// tell.
std::optional<bool> is_in_initial_user_namespace() noexcept;

} // namespace gpucontainer::syscall
