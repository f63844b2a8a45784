// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/toolkit.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The host's CUDA toolkit, which a container without one may get.
namespace gpucontainer::drivers::nvidia {

/// The version of CUDA in a toolkit's version.json or, in older ones, include/cuda.h: "12.4". ""
/// if the text does not tell.
std::string cuda_of_version_file(std::string_view text);
std::string cuda_of_header(std::string_view text);

/// As in Toolkits.
Result<Toolkit> read_toolkit(const std::string& directory);
std::vector<std::string> usual_toolkits(const std::string& root);
ToolkitVerdict judge_toolkit(const model::DriverStack& driver, const Toolkit& toolkit);

inline constexpr Toolkits toolkits = {"CUDA toolkit", "/usr/local/cuda", read_toolkit,
                                      usual_toolkits, judge_toolkit};

} // namespace gpucontainer::drivers::nvidia
