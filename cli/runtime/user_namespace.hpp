// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpuctr_cli {

/// Moves this process into a user namespace of its own, with a mount namespace. Its ids stay the
/// same. Throws gpucontainer::Error: permission, which says what on this system forbids it.
void enter_user_namespace();

/// Throws gpucontainer::Error: permission, for `what`. Finds out from errno and the system why
/// unshare() or mount() failed.
[[noreturn]] void fail_to_unshare(const std::string& what);
[[noreturn]] void fail_to_mount(const std::string& what);

} // namespace gpuctr_cli
