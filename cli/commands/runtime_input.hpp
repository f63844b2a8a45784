// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace gpuctr_cli {

/// What a runtime writes to its hooks is a few hundred bytes long, and a configuration some
/// thousands.
struct Input {
    const char* what;
    std::size_t largest;
};
inline constexpr Input input_state = {"the state", 1U << 20U};
inline constexpr Input input_config = {"the configuration", 4U << 20U};

/// What is on standard input. Throws gpucontainer::Error: usage.
std::string read_input(const Input& input);

} // namespace gpuctr_cli
