// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace gpucontainer::config {

/// The key of the policy, such as "allowed-devices", that `key` is or may be meant for; "" if
/// there is none. A key may be meant for one if at most two letters are wrong, missing, extra or
/// swapped, or if it begins with "restrict". Upper case counts as lower case, and `_` or a space
/// as `-`.
std::string_view meant_policy_key(std::string_view key);

} // namespace gpucontainer::config
