// SPDX-License-Identifier: MIT
#include "apply/program.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <type_traits>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

constexpr std::uint64_t magic = 0x67707563'74720001; // "gpuctr", layout 1
constexpr std::uint32_t version = 4;
constexpr std::uint32_t most_operations = 4096;
constexpr std::uint32_t most_fds = 4096;
constexpr std::size_t largest_block = std::size_t{256} << 20U;

static_assert(std::is_trivially_copyable_v<Operation>);
static_assert(sizeof(ProgramHeader) % alignof(Operation) == 0);
static_assert(sizeof(Operation) % alignof(std::int32_t) == 0);

std::size_t strings_offset(std::size_t operations, std::size_t fds)
{
    return sizeof(ProgramHeader) + operations * sizeof(Operation) + fds * sizeof(std::int32_t);
}

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
    // Only read through: the view offers no const variant.
    const Program program(
        const_cast<void*>(block)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    const ProgramHeader& header = program.header();
    if (header.magic != magic || header.version != version || header.size != size
        || header.operation_count > most_operations || header.fd_count > most_fds
        || header.backend > static_cast<std::uint32_t>(mount::last_backend)
        || header.stage >= static_cast<std::int32_t>(header.fd_count))
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
    // Names on the stage that preparing did not use.
    constexpr unsigned first = 1U << 20U;
    const ProgramHeader& known = header();
    const int stage = known.stage < 0 ? -1 : fds()[static_cast<std::size_t>(known.stage)];
    return {static_cast<mount::Backend>(known.backend), stage, first};
}

Operation& ProgramBuilder::add(Step step, std::string_view path, std::string_view data)
{
    Operation operation = {};
    operation.step = step;
    operation.path = append(path);
    operation.data = append(data);
    operation.data_size = static_cast<std::uint32_t>(data.size());
    operation.fd = -1;
    operation.mounts_below = any_number;
    return operations_.emplace_back(operation);
}

std::int32_t ProgramBuilder::keep(base::UniqueFd fd)
{
    fds_.push_back(std::move(fd));
    return static_cast<std::int32_t>(fds_.size()) - 1;
}

std::uint32_t ProgramBuilder::append(std::string_view text)
{
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_ += text;
    strings_ += '\0';
    return offset;
}

Block ProgramBuilder::build(const mount::Bench& bench) &&
{
    std::int32_t stage = -1;
    if (bench.stage >= 0) {
        base::UniqueFd own(::fcntl(bench.stage, F_DUPFD_CLOEXEC, 3));
        if (!own)
            return nullptr;
        stage = keep(std::move(own));
    }
    const std::size_t strings = strings_offset(operations_.size(), fds_.size());
    const std::size_t size = strings + strings_.size();
    Block block(new std::uint64_t[size / sizeof(std::uint64_t) + 1]());
    const Program program(block.get());

    ProgramHeader& header = program.header();
    header = {};
    header.magic = magic;
    header.version = version;
    header.size = static_cast<std::uint32_t>(size);
    header.operation_count = static_cast<std::uint32_t>(operations_.size());
    header.fd_count = static_cast<std::uint32_t>(fds_.size());
    header.owned = 1;
    header.backend = static_cast<std::uint32_t>(bench.backend);
    header.stage = stage;

    for (Operation& operation : operations_) {
        operation.path += static_cast<std::uint32_t>(strings);
        operation.data += static_cast<std::uint32_t>(strings);
    }
    std::copy(operations_.begin(), operations_.end(), program.operations().begin());
    std::memcpy(reinterpret_cast<std::byte*>(block.get()) + strings, strings_.data(),
                strings_.size());
    for (std::size_t i = 0; i < fds_.size(); ++i)
        program.fds()[i] = fds_[i].release();
    return block;
}

void release(void* block) noexcept
{
    if (block == nullptr)
        return;
    const Program program(block);
    for (std::int32_t& fd : program.fds()) {
        if (fd >= 0)
            (void)::close(fd);
        fd = -1;
    }
    if (program.header().owned != 0)
        delete[] static_cast<std::uint64_t*>(block);
}

} // namespace gpucontainer::apply
