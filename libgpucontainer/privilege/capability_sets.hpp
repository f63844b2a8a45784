// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace gpucontainer::privilege {

/// The calling thread's capabilities, a bit each. Not by libcap, which works at
/// load time already: a program that links this library would pay for it before
/// it calls anything.
struct CapabilitySets {
    std::uint64_t effective = 0;
    std::uint64_t permitted = 0;
    std::uint64_t inheritable = 0;

    static Result<CapabilitySets> read();
    Result<void> write() const;

    bool operator==(const CapabilitySets&) const = default;
};

} // namespace gpucontainer::privilege
