// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// Names in a directory; none where it is not there.
using ListDirectory = std::function<std::vector<std::string>(const std::string& directory)>;

bool is_pattern(std::string_view path);

/// What an absolute path may name whose components hold "*" and "?": newer versions
/// first, and `most` at most. Only those components are looked up: whether what a path
/// ends in is there is not told.
std::vector<std::string> expand_pattern(std::string_view pattern, const ListDirectory& list,
                                        std::size_t most);

} // namespace gpucontainer::search
