// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/specification.hpp"

#include <string>

namespace gpucontainer::cdi {

/// A specification as a JSON document.
std::string to_json(const Specification& specification);

/// The same in YAML.
std::string to_yaml(const Specification& specification);

} // namespace gpucontainer::cdi
