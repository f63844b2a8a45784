// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"

#include <string>

namespace gpucontainer::check {

/// What of the kernel's settings decides about containers of this process.
struct NamespaceUser {
    bool is_root = false; ///< It needs no user namespace.
    /// The profile of AppArmor that it runs under; "" if that is not known.
    std::string profile;
};

/// This process.
NamespaceUser namespace_user();

/// Adds what keeps a user from making user namespaces, by which an ordinary user sets up
/// containers. `system_root` is a prefix of /proc.
Result<void> add_namespace_causes(const std::string& system_root, const NamespaceUser& user,
                                  model::Causes& causes);

} // namespace gpucontainer::check
