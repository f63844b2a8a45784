// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace gpuctr_cli {

/// What a runtime writes to its hooks is a few hundred bytes long.
struct Input {
    const char* what;
    std::size_t largest;
};
inline constexpr Input input_state = {"the state", 1U << 20U};
/// Of a container that is to get devices.
inline constexpr Input input_config = {"the configuration", 4U << 20U};

/// What is on standard input. Throws gpucontainer::Error: usage.
std::string read_input(const Input& input);

/// What is on standard input, up to `largest` bytes and one more.
std::string read_some_input(const Input& input);

/// Copies the rest of standard input to standard output.
void pass_on_input(const Input& input, std::FILE* out);

} // namespace gpuctr_cli
