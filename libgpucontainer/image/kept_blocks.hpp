// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <tuple>

namespace gpucontainer::image {

/// A block as an image has it.
struct StoredBlock {
    std::uint64_t start = 0;
    std::uint32_t size = 0; ///< And whether it is compressed, as the image writes it.

    friend bool operator<(const StoredBlock& one, const StoredBlock& other) noexcept
    {
        return std::tie(one.start, one.size) < std::tie(other.start, other.size);
    }
};

/// Decoded blocks, of which the last ones that were used are kept: many small files are in one
/// block, and a large file is read in several places in turn.
class KeptBlocks {
public:
    using Decode = std::function<Result<std::string>(const StoredBlock&)>;

    KeptBlocks(std::size_t most, Decode decode);

    /// What `decode` makes of a block. It stays until the next call. Errors: those of `decode`.
    Result<const std::string*> at(const StoredBlock& stored);

private:
    struct Kept {
        StoredBlock stored;
        std::string content;
    };
    using Order = std::list<Kept>;

    std::size_t most_;
    Decode decode_;
    Order order_; ///< The last one that was used is the first.
    std::map<StoredBlock, Order::iterator> places_;
};

} // namespace gpucontainer::image
