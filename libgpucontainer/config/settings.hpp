// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// One value of a key; a key with a list has several of them.
struct Setting {
    std::size_t line = 0;
    std::string key;
    std::string value;
};

/// Reads a configuration file, in the order of the file:
///
///     driver-root: /run/nvidia/driver
///     catalogue: [/etc/site/fabric.yaml, /etc/site/tools.yaml]
///
/// Which keys there are is up to the reader. Fails on the first mistake with its
/// line: a repeated key, an empty value, a map. Nothing but comments is no mistake.
Result<std::vector<Setting>> parse_settings(std::string_view yaml);

} // namespace gpucontainer::config
