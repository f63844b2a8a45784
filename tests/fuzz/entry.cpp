// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.hpp"

#include <cstddef>
#include <cstdint>

// The name is libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) // NOLINT
{
    gpucontainer::fuzz::run({reinterpret_cast<const char*>(data), size});
    return 0;
}
