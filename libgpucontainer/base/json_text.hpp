// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// What is known of a JSON document before a parser has read it, or could not.
namespace gpucontainer::base {

/// How deep its arrays and objects are nested, up to its first fault. A parser that asks at each
/// value whether to drop it takes quadratic time for a list of objects.
std::size_t json_depth(std::string_view text);

/// The parser's word on a fault, which may quote the text without end, in some length.
/// `what` is "[json.exception.NAME] WHAT".
std::string json_fault(std::string_view what);

} // namespace gpucontainer::base
