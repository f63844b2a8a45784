// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.hpp"

#include <cstddef>
#include <span>

/// usage: PROGRAM DIRECTORY...
int main(int count, char** arguments)
{
    const std::span words(arguments, static_cast<std::size_t>(count));
    return gpucontainer::fuzz::replay(words.subspan(1));
}
