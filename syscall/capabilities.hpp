// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace gpucontainer::syscall {

/// The calling thread's capabilities, one bit each. libcap is not used, because it makes system
/// calls when it is loaded: a program that links the library would pay for that before it calls
/// anything.
struct Capabilities {
    std::uint64_t effective = 0;
    std::uint64_t permitted = 0;
    std::uint64_t inheritable = 0;

    bool operator==(const Capabilities&) const = default;
};

constexpr std::uint64_t bit(unsigned capability) { return std::uint64_t{1} << capability; }

/// None, with errno, if they cannot be read.
std::optional<Capabilities> read_capabilities() noexcept;
/// False with errno.
bool write_capabilities(const Capabilities& sets) noexcept;

} // namespace gpucontainer::syscall
