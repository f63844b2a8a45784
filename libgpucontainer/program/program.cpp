// SPDX-License-Identifier: MIT
#include "program/program.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace gpucontainer::program {
namespace {

constexpr std::uint32_t most_operations = 4096;
constexpr std::uint32_t most_fds = 4096;
constexpr std::size_t largest_block = std::size_t{256} << 20U;

static_assert(std::is_trivially_copyable_v<Operation>);
static_assert(sizeof(ProgramHeader) % alignof(Operation) == 0);
static_assert(sizeof(Operation) % alignof(std::int32_t) == 0);

bool is_terminated(const Program& program, std::uint32_t offset, std::size_t size,
                   std::size_t strings)
{
    return offset >= strings && offset < size
           && std::memchr(program.text(offset), '\0', size - offset) != nullptr;
}

bool is_valid_operation(const Program& program, const Operation& operation, std::size_t size,
                        std::size_t strings)
{
    const ProgramHeader& header = program.header();
    return static_cast<std::uint32_t>(operation.step) <= last_step
           && is_terminated(program, operation.path, size, strings)
           && is_terminated(program, operation.data, size, strings)
           && operation.data_size < size - operation.data && *program.text(operation.path) == '/'
           && operation.fd < static_cast<std::int32_t>(header.fd_count)
           && (!is_mount(operation) || operation.fd >= 0);
}

} // namespace

bool Program::is_valid(const void* block, std::size_t size) noexcept
{
    if (block == nullptr || size < sizeof(ProgramHeader) || size > largest_block
        || reinterpret_cast<std::uintptr_t>(block) % alignof(std::uint64_t) != 0)
        return false;
    // It is only read. The view has no const variant.
    const Program program(
        const_cast<void*>(block)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const ProgramHeader& header = program.header();
    if (header.magic != block_magic || header.version != block_version || header.size != size
        || header.operation_count > most_operations || header.fd_count > most_fds
        || header.backend > static_cast<std::uint32_t>(mount::last_backend)
        || header.scratch >= static_cast<std::int32_t>(header.fd_count))
        return false;
    const std::size_t strings = strings_offset(header.operation_count, header.fd_count);
    if (strings > size)
        return false;
    const auto operations = program.operations();
    return std::all_of(operations.begin(), operations.end(), [&](const Operation& operation) {
        return is_valid_operation(program, operation, size, strings);
    });
}

std::span<Operation> Program::operations() const noexcept
{
    return {reinterpret_cast<Operation*>(block_ + sizeof(ProgramHeader)), header().operation_count};
}

std::span<std::int32_t> Program::fds() const noexcept
{
    std::byte* const start =
        block_ + sizeof(ProgramHeader) + header().operation_count * sizeof(Operation);
    return {reinterpret_cast<std::int32_t*>(start), header().fd_count};
}

mount::Bench Program::bench() const noexcept
{
    const ProgramHeader& known = header();
    const int scratch = known.scratch < 0 ? -1 : fds()[static_cast<std::size_t>(known.scratch)];
    return {static_cast<mount::Backend>(known.backend), scratch};
}

} // namespace gpucontainer::program
