// SPDX-License-Identifier: MIT
#pragma once

#include "explain/answer.hpp"
#include "plan/planned.hpp"

#include <string>
#include <vector>

/// What would give a container something that it does not get. Of what it gets: what would keep
/// that out, or have another copy count. Options are those of the command.
namespace gpucontainer::explain {

std::vector<std::string> remedies_for(const plan::Planned& planned,
                                      const model::DriverStack& driver,
                                      const model::DriverFile& file, const Answer& answer);
std::vector<std::string> remedies_for(const plan::Planned& planned,
                                      const model::DriverStack& driver,
                                      const model::DeviceNode& node, const Answer& answer);
std::vector<std::string> remedies_for(const plan::Planned& planned,
                                      const model::DriverStack& driver, const model::Gpu& gpu,
                                      const Answer& answer);
std::vector<std::string> remedies_for(const plan::Planned& planned,
                                      const model::DriverStack& driver,
                                      const model::SharedPath& shared, const Answer& answer);
/// Of something that the host lacks.
std::vector<std::string> remedies_for(const model::Finding& finding);

} // namespace gpucontainer::explain
