// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// Names in a directory; none if it is missing.
using ListDirectory = std::function<std::vector<std::string>(const std::string& directory)>;

bool is_pattern(std::string_view path);

/// The paths that match an absolute path with "*" and "?" in its components: newer versions first,
/// at most `most`. Only such components are looked up. Other components may be missing, so a path
/// need not exist.
std::vector<std::string> expand_pattern(std::string_view pattern, const ListDirectory& list,
                                        std::size_t most);

} // namespace gpucontainer::search
