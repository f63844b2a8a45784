// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// One value of a key, of several if the key has a list; or a mistake in a key, which then has no
/// value.
struct Setting {
    std::size_t line = 0;
    std::string key; ///< For a mistake made printable; "" if it is not text.
    std::string value;
    std::string mistake;          ///< "FILE:LINE: KEY: WHY"; empty for a value.
    bool in_list = false;         ///< The value is in a list, perhaps as the only one.
    bool concerns_policy = false; ///< The mistake may concern a site's policy.
};

/// Reads a configuration file, in the order of the file:
///
///     driver-root: /run/nvidia/driver
///     catalogue: [/etc/site/fabric.yaml, /etc/site/tools.yaml]
///
/// The caller decides which keys there are, except those of meant_policy_key(). A mistake in one
/// key, such as a map for a value, becomes a setting in its place; other keys are still read.
/// Fails if the file as a whole is not a map. `file` is its name in messages.
Result<std::vector<Setting>> parse_settings(std::string_view yaml, std::string_view file);

} // namespace gpucontainer::config
