// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Whether this process may do more than an ordinary user: one of its ids is root's,
/// or it has capabilities, be it in a user namespace of somebody's own.
bool has_privileges();

/// Becomes the user `name` of the system for good, with the groups that he has there:
/// no id, capability, descriptor but 0 to 2, working directory or key of the caller's
/// is left. Refused is a user who is not known, is root or is in root's group. Throws
/// gpucontainer::Error: permission.
void become_restricted_user(const std::string& name);

} // namespace gpuctr_cli
