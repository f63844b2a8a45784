// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "syscall/capabilities.hpp"

namespace gpucontainer::privilege {

/// The calling thread's capabilities.
struct CapabilitySets : syscall::Capabilities {
    static Result<CapabilitySets> read();
    Result<void> write() const;
};

} // namespace gpucontainer::privilege
