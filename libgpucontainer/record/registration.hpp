// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

namespace gpucontainer::record {

/// The kind of the files that programs find in this manner.
model::FileKind kind_for(model::Manner manner);

/// What is wrong with the name, which becomes a part of paths; null if it is right.
const char* problem_with_name(const model::Registration& registration);

} // namespace gpucontainer::record
