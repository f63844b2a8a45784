// SPDX-License-Identifier: MIT
#include "model/cause.hpp"

#include <algorithm>
#include <tuple>

namespace gpucontainer::model {

void sort(Causes& causes)
{
    const auto rank = [](const Cause& cause) {
        return std::tuple(cause.remark, cause.mended, cause.blocks, cause.stage);
    };
    std::ranges::stable_sort(causes, {}, rank);
}

} // namespace gpucontainer::model
