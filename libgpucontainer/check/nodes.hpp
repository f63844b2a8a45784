// SPDX-License-Identifier: MIT
#pragma once

#include "model/cause.hpp"
#include "model/driver.hpp"

namespace gpucontainer::check {

/// Adds why device nodes of a driver do not work: they are missing, are other devices, or are
/// closed to this process. Nodes with the same reason are one cause, whose evidence is the first.
void add_node_causes(const model::DriverStack& driver, model::Causes& causes);

} // namespace gpucontainer::check
