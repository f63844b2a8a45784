// SPDX-License-Identifier: MIT
#pragma once

#include "cgroup/device_list.hpp"

#include <cstddef>
#include <cstdint>
#include <linux/bpf.h>
#include <optional>
#include <span>
#include <vector>

namespace gpucontainer::cgroup {

enum class DeviceType : std::uint8_t { any, character, block };

/// A rule about devices, of several of which a later one counts before those above it.
struct OrderedRule {
    bool allow = false;
    DeviceType type = DeviceType::any;
    std::optional<std::uint32_t> major; ///< None: any.
    std::optional<std::uint32_t> minor;
    Access access = 0;
};

/// More than any container has. The kernel may refuse a program for some hundreds that are about
/// many devices each, if it cannot check all ways through it.
inline constexpr std::size_t most_rules = 4096;

/// A whole program for a device cgroup of version 2: each way of access is decided by the last rule
/// that is about it, and forbidden if there is none.
std::vector<bpf_insn> device_program(std::span<const OrderedRule> given);

/// What all OCI runtimes allow every container: the nodes that each has, terminals, and making
/// nodes.
std::span<const OrderedRule> rules_of_every_container();

} // namespace gpucontainer::cgroup
