// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpucontainer::test {

/// One line for each mount of this namespace, in the order of the table.
std::vector<std::string> mount_table();

} // namespace gpucontainer::test
