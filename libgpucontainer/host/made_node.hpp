// SPDX-License-Identifier: MIT
#pragma once

#include "host/node_access.hpp"

#include <cstdint>

namespace gpucontainer::host {

/// A character device that the host has no node of.
struct LackingNode {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint32_t mode = 0;         ///< Permission bits.
    std::uint32_t uid = UINT32_MAX; ///< UINT32_MAX: not known.
    std::uint32_t gid = 0;
};

/// Makes the node `name` in `directory` with exactly this mode and owner, or none: false, with
/// errno.
bool make_plain_node(int directory, const char* name, const LackingNode& node);

/// The same for somebody else, in a directory that nobody else reaches. There is none afterwards,
/// and the obstacle says why, unless whoever started this program could use such a node on the
/// host: its permissions and the device cgroup are asked. A right to make nodes is not enough,
/// because cgroups often let all be made and few be used. No device is opened.
Obstacle make_node(int directory, const char* name, const LackingNode& node);

} // namespace gpucontainer::host
