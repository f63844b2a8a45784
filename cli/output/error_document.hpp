// SPDX-License-Identifier: MIT
#pragma once

#include "output/messages.hpp"

#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// An error as the object of schema "gpucontainer/error/1", on one line. `message` replaces the
/// error's own; `option` is the one that it is about, without dashes, or "". `others` were said
/// besides.
std::string error_document(const gpucontainer::Error& error, const std::string& message,
                           const std::string& option, int exit_status,
                           const std::vector<Message>& others);

} // namespace gpuctr_cli
