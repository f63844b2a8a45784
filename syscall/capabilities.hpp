// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace gpucontainer::syscall {

/// The calling thread's capabilities, a bit each. Not by libcap, which works at
/// load time already: a program that links the library would pay for it before
/// it calls anything.
struct Capabilities {
    std::uint64_t effective = 0;
    std::uint64_t permitted = 0;
    std::uint64_t inheritable = 0;

    bool operator==(const Capabilities&) const = default;
};

/// Nothing, with errno, where they cannot be read.
std::optional<Capabilities> read_capabilities() noexcept;
/// False with errno.
bool write_capabilities(const Capabilities& sets) noexcept;

} // namespace gpucontainer::syscall
