// SPDX-License-Identifier: MIT
#pragma once

#include "check/surroundings.hpp"
#include "model/cause.hpp"

#include <string>
#include <vector>

namespace gpucontainer::check {

/// What a program loads when it starts.
struct Started {
    std::vector<std::string> loaded; ///< Paths in the container, the program's first; maybe none.
    model::Causes causes;
};

/// Finds out whether a program of a container starts, and which libraries it loads: `program` is a
/// path in it, or a name in its PATH; "": none. Also whether programs there can load the libraries
/// that the plan gives, or find other copies of them. Nothing is executed.
Started start(const Surroundings& around, const std::string& program);

} // namespace gpucontainer::check
