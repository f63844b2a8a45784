// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "mount/bench.hpp"
#include "program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::program {

/// A program's block that this process made; release() frees it.
using Block = std::unique_ptr<std::uint64_t[]>; // NOLINT(modernize-avoid-c-arrays): of any size

/// Builds a block.
class ProgramBuilder {
public:
    /// Returns the operation. It is valid until the next one is added.
    Operation& add(Step step, std::string_view path, std::string_view data = {});

    /// Takes ownership of the descriptor; returns its index.
    std::int32_t keep(base::UniqueFd fd);
    Operation& operation(std::size_t index) { return operations_[index]; }
    std::size_t operation_count() const noexcept { return operations_.size(); }

    /// Gives a descriptor back; its place stays empty.
    base::UniqueFd take(std::int32_t index)
    {
        return std::move(fds_[static_cast<std::size_t>(index)]);
    }
    /// Fills an empty place.
    void set(std::int32_t index, base::UniqueFd fd)
    {
        fds_[static_cast<std::size_t>(index)] = std::move(fd);
    }

    /// A block from new[], with the descriptors that were kept.
    Block build(const mount::Bench& bench = {}) &&;

private:
    std::uint32_t append(std::string_view text);

    std::vector<Operation> operations_;
    std::vector<base::UniqueFd> fds_;
    std::string strings_;
};

/// Closes the descriptors and frees the block, if it owns them.
void release(void* block) noexcept;

} // namespace gpucontainer::program
