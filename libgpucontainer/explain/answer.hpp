// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"
#include "plan/item.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::explain {

/// What a name stands for.
enum class Kind : std::uint8_t { library, tool, data, node, gpu, shared };
std::string_view name(Kind kind);

/// What a plan does with one thing of the host, and why.
struct Answer {
    Kind kind = Kind::library;
    std::string name;   ///< "libcuda.so.1", "nvidia-smi", "/dev/nvidia0", "0".
    std::string vendor; ///< "nvidia"
    bool given = false; ///< The container gets it.
    std::string path;   ///< On the host; "" if it is not there.
    std::string reason; ///< Why it is given, or is not.
    model::Capability capability = model::Capability::none; ///< That it is a part of.
    std::vector<plan::Item> items; ///< Those of the plan by which the container gets it.
    /// Others of this name on the host and in the image, and why they do not count; what stands in
    /// the way of a node or GPU.
    model::Findings others;
    std::vector<std::string> remedies; ///< What would change it.
};

} // namespace gpucontainer::explain
