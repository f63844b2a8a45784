// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace gpucontainer::config {

/// The key of the policy, such as "allowed-devices", that a key is or may be meant for; ""
/// when it is neither. May be meant: but for two letters that are wrong, missing, too many
/// or in the other order it is the same, or it begins with "restrict". Upper case, and `_`
/// or a space for `-`, count for nothing.
std::string_view meant_policy_key(std::string_view key);

} // namespace gpucontainer::config
