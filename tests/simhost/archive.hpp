// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace gpucontainer::simhost {

inline constexpr std::size_t max_archive = 64U << 20U;

using Members = std::map<std::string, std::string, std::less<>>;

/// The files of a tar archive (ustar), by their names below an optional "./". It may be a
/// stranger's: nothing is written anywhere, and names that no recorded host has, links, and other
/// kinds of members are an error.
Result<Members> read_archive(std::string_view bytes);

} // namespace gpucontainer::simhost
