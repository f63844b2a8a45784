// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Gives this process a user namespace of its own with a mount namespace in it;
/// ids stay what they are. Throws gpucontainer::Error: permission, with what it
/// is on this system that forbids it.
void enter_user_namespace();

/// Throws gpucontainer::Error: permission, for `what`, with the reason for which
/// unshare() or mount() refused it.
[[noreturn]] void fail_to_unshare(const std::string& what);
[[noreturn]] void fail_to_mount(const std::string& what);

} // namespace gpuctr_cli
