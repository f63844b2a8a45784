// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"

#include <string>
#include <vector>

namespace gpucontainer::simhost {

/// Takes out of a recording what could harm whoever runs a program on it, because a stranger may
/// have made it. What is left has no code:
///
/// - Programs and libraries are stubs. Of a script, its first line is left, and only if that names
/// a
///   usual interpreter. Nothing has a setuid bit.
/// - No program gets the name of one of this machine, and no link leads to one.
/// - Other texts are data that drivers' programs read, by their names or directories.
/// - Entries of the loader's cache lead to no library of this machine that is elsewhere than where
///   the loader looks by itself.
/// - Device nodes have no number of a device of this machine.
/// - Of procfs there is only what tells of devices and of the kernel.
void restrict_stranger(Recording& host, std::vector<std::string>& left_out);

} // namespace gpucontainer::simhost
