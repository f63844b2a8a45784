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

/// Such a block that this process made; release() frees it.
using Block = std::unique_ptr<std::uint64_t[]>; // NOLINT(modernize-avoid-c-arrays): of any size

/// Puts a block together.
class ProgramBuilder {
public:
    /// Returns the operation, valid until the next one is added.
    Operation& add(Step step, std::string_view path, std::string_view data = {});

    /// Takes the descriptor over; returns its index.
    std::int32_t keep(base::UniqueFd fd);
    Operation& operation(std::size_t index) { return operations_[index]; }
    std::size_t operation_count() const noexcept { return operations_.size(); }

    /// Leaves its place empty.
    base::UniqueFd take(std::int32_t index)
    {
        return std::move(fds_[static_cast<std::size_t>(index)]);
    }
    /// Fills a place that is empty.
    void set(std::int32_t index, base::UniqueFd fd)
    {
        fds_[static_cast<std::size_t>(index)] = std::move(fd);
    }

    /// A block from new[]; its descriptors are those that were kept.
    Block build(const mount::Bench& bench = {}) &&;

private:
    std::uint32_t append(std::string_view text);

    std::vector<Operation> operations_;
    std::vector<base::UniqueFd> fds_;
    std::string strings_;
};

/// Closes the descriptors and, when the block is its own, frees it.
void release(void* block) noexcept;

} // namespace gpucontainer::program
