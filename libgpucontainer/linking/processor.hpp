// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpucontainer::linking {

/// The names of directories below "glibc-hwcaps" that programs of this machine's processor search,
/// in the order in which they do: "x86-64-v3", "x86-64-v2".
std::vector<std::string> processor_levels();

} // namespace gpucontainer::linking
