// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

namespace gpucontainer::record {

/// Whether programs find files of the kind in this manner.
bool is_for(model::Manner manner, model::FileKind kind);

/// What is wrong with the name, which becomes a part of paths; null if it is right.
const char* problem_with_name(const model::Registration& registration);

} // namespace gpucontainer::record
