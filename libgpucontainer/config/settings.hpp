// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// One value of a key; a key with a list has several of them. Or what is wrong with a key,
/// which then has no value.
struct Setting {
    std::size_t line = 0;
    std::string key; ///< Of a mistake: as it can be printed; "" for one that is no text.
    std::string value;
    std::string mistake;          ///< "FILE:LINE: KEY: WHY"; empty for a value.
    bool in_list = false;         ///< The value stands in a list, which may have no other.
    bool concerns_policy = false; ///< The mistake may be one in a site's policy.
};

/// Reads a configuration file, in the order of the file:
///
///     driver-root: /run/nvidia/driver
///     catalogue: [/etc/site/fabric.yaml, /etc/site/tools.yaml]
///
/// Which keys there are is up to the reader, but for what meant_policy_key() says. A
/// mistake in one key, such as a map for a value, is in its place: it takes no other key
/// away. Fails where no key can be told from another. `file` is the name for messages.
Result<std::vector<Setting>> parse_settings(std::string_view yaml, std::string_view file);

} // namespace gpucontainer::config
