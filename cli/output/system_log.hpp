// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Sends a line to the system's log, as a warning of a daemon. Where nobody takes it at once it is
/// lost: a log keeps no container from starting.
void log_to_system(const std::string& text);

} // namespace gpuctr_cli
