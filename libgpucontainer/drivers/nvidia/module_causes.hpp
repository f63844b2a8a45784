// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// What else the loaded modules need: unified memory, mode setting, the fabric manager; a kernel on
/// which their HMM fails; an MPS server of somebody else.
Result<void> add_module_causes(const Sources& sources, const model::DriverStack& driver,
                               model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
