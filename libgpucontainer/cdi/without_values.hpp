// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/read.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::cdi {

/// A document without the values of the variables in it, which may be secrets: everything below
/// the name "env" keeps the part before '='. The result is JSON, which is also YAML. Errors: usage,
/// for a text that cannot be read.
Result<std::string> without_values(std::string_view text, Form form);

} // namespace gpucontainer::cdi
