// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Reads a file or pipe, and stops at a size that none has. `what` it is, and the `argument`, are
/// for the message. Throws gpucontainer::Error: usage, permission.
std::string read_text(const std::string& path, const std::string& what, const std::string& hint,
                      const char* argument);

} // namespace gpuctr_cli
