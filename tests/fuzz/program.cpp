// SPDX-License-Identifier: MIT
#include "program/program.hpp"

#include "fuzz/fuzz.hpp"

#include <cstring>
#include <memory>
#include <string_view>

namespace gpucontainer::fuzz {

/// A prepared plan that another process handed over: a block that is taken for
/// one is one, to its last string.
void run(std::string_view input)
{
    // As long as the input, so that the byte behind it is nobody's.
    void* const memory = ::operator new(input.size(), std::align_val_t(alignof(std::uint64_t)));
    const std::unique_ptr<void, void (*)(void*)> owner(memory, [](void* block) {
        ::operator delete(block, std::align_val_t(alignof(std::uint64_t)));
    });
    if (!input.empty())
        std::memcpy(memory, input.data(), input.size());
    if (!program::Program::is_valid(memory, input.size()))
        return;

    const program::Program program(memory);
    const auto end = [&](const char* text, std::size_t length) {
        return static_cast<std::size_t>(text - static_cast<const char*>(memory)) + length
               <= input.size();
    };
    for (const program::Operation& operation : program.operations()) {
        const std::string_view path = program.text(operation.path);
        demand(path.starts_with('/') && end(path.data(), path.size() + 1), "a path is absolute");
        demand(end(program.text(operation.data), operation.data_size), "data ends in the block");
        demand(std::strlen(program.text(operation.data)) < input.size(), "and has an end");
        demand(operation.fd < static_cast<std::int32_t>(program.fds().size()),
               "a descriptor is one of them");
    }
    for (std::int32_t& fd : program.fds())
        fd = -1;
}

} // namespace gpucontainer::fuzz
