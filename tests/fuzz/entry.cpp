// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

// The names are libFuzzer's.

/// usage: PROGRAM --replay DIRECTORY..., besides that of libFuzzer
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) // NOLINT
{
    const std::span words(*arguments, static_cast<std::size_t>(*count));
    if (words.size() > 1 && std::string_view(words[1]) == "--replay")
        std::exit(gpucontainer::fuzz::replay(words.subspan(2)));
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) // NOLINT
{
    gpucontainer::fuzz::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
