// SPDX-License-Identifier: MIT
#include "image/kept_blocks.hpp"

#include "base/try.hpp"

#include <utility>

namespace gpucontainer::image {

KeptBlocks::KeptBlocks(std::size_t most, Decode decode) : most_(most), decode_(std::move(decode)) {}

Result<const std::string*> KeptBlocks::at(const StoredBlock& stored)
{
    const auto known = places_.find(stored);
    if (known != places_.end()) {
        order_.splice(order_.begin(), order_, known->second);
        return &order_.front().content;
    }
    // Before, as what is decoded needs memory too.
    while (!order_.empty() && order_.size() >= most_) {
        places_.erase(order_.back().stored);
        order_.pop_back();
    }
    GPUCTR_TRY(std::string content, decode_(stored));
    order_.push_front({stored, std::move(content)});
    places_.emplace(stored, order_.begin());
    return &order_.front().content;
}

} // namespace gpucontainer::image
