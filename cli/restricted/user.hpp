// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Whether this process may do more than an ordinary user: one of its ids is 0, or it has
/// capabilities, even if only in a user namespace.
bool has_privileges();

/// Becomes the user `name` for good, with the groups of that user. Nothing of the caller is
/// left: no id, capability, working directory, key, or descriptor except 0 to 2. A user who is
/// unknown, root or in root's group is refused. Throws gpucontainer::Error: permission.
void become_restricted_user(const std::string& name);

} // namespace gpuctr_cli
