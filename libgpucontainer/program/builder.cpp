// SPDX-License-Identifier: MIT
#include "program/builder.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::program {

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
    std::int32_t scratch = -1;
    if (bench.scratch >= 0) {
        base::UniqueFd own(::fcntl(bench.scratch, F_DUPFD_CLOEXEC, 3));
        if (!own)
            return nullptr;
        scratch = keep(std::move(own));
    }
    const std::size_t strings = strings_offset(operations_.size(), fds_.size());
    const std::size_t size = strings + strings_.size();
    Block block(new std::uint64_t[size / sizeof(std::uint64_t) + 1]());
    const Program program(block.get());

    ProgramHeader& header = program.header();
    header = {};
    header.magic = block_magic;
    header.version = block_version;
    header.size = static_cast<std::uint32_t>(size);
    header.operation_count = static_cast<std::uint32_t>(operations_.size());
    header.fd_count = static_cast<std::uint32_t>(fds_.size());
    header.owned = 1;
    header.backend = static_cast<std::uint32_t>(bench.backend);
    header.scratch = scratch;

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

} // namespace gpucontainer::program
