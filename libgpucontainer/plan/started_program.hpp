// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <cstdint>
#include <string>

namespace gpucontainer::plan {

/// What the kernel executes when a container's program is started: the program, or what runs it.
struct StartedProgram {
    enum class Kind : std::uint8_t {
        unknown,      ///< It is not found, or no file that is understood.
        foreign,      ///< It is for another machine.
        no_libraries, ///< It is static.
        loaded,       ///< Its interpreter loads it.
    };
    Kind kind = Kind::unknown;
    std::string path = {};        ///< In the container.
    std::string interpreter = {}; ///< "/lib64/ld-linux-x86-64.so.2"
};

/// Looks for the program by its path, or in the PATH of the container. It may be hostile: it is
/// read, and not executed.
StartedProgram find_started_program(const Draft& draft, const std::string& name);

} // namespace gpucontainer::plan
