// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::check {

/// Finds variables of a program, which see the `chosen` GPUs, that leave it none of these.
void check_masks(const model::DriverStack& driver, const std::vector<model::Gpu>& chosen,
                 const std::map<std::string, std::string>& environment, model::Causes& causes);

} // namespace gpucontainer::check
