// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

namespace gpucontainer::privilege {

/// Fails with Errc::permission, naming what is missing, when this process may
/// not mount in its user namespace. Asks before anything is tried, so that the
/// message is about privileges and not about the call that needed them.
Result<void> require_mounting();

} // namespace gpucontainer::privilege
