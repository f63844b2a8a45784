// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "program/failure.hpp"

namespace gpucontainer::apply {

/// The error for a failure of the executor, with a hint.
Error to_error(const program::Failure& failure);

} // namespace gpucontainer::apply
