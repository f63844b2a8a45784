// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpucontainer::drivers::nvidia {

/// Whether a GPU no longer answers: what is read of its PCI configuration is all ones. A GPU that
/// is suspended is not asked, because that would wake it.
bool has_fallen_off_bus(const std::string& system_root, const std::string& address);

} // namespace gpucontainer::drivers::nvidia
