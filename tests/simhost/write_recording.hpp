// SPDX-License-Identifier: MIT
#pragma once

#include "archive.hpp"
#include "base/result.hpp"
#include "recording.hpp"

#include <string>

namespace gpucontainer::simhost {

/// The files of a recorded host, by their names in its folder: read_members() reads the same of
/// them. Texts of files that the host does not have are not in it, nor names that a terminal would
/// obey.
Members members_of(const Recording& host);

/// Makes a folder of them, of which the caller is the owner. There must be nothing at `path`; a
/// failure leaves nothing there.
Result<void> write_recording(const Recording& host, const std::string& path);

} // namespace gpucontainer::simhost
