// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "program/failure.hpp"

namespace gpucontainer::apply {

/// What a failure of the executor is to a person, with what there is to do about it.
Error to_error(const program::Failure& failure);

} // namespace gpucontainer::apply
