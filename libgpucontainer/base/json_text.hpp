// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// JSON documents as text: what is known of one before a parser has read it, or could not.
namespace gpucontainer::base {

/// How deep its arrays and objects are nested, up to its first fault. A parser that asks at each
/// value whether to drop it takes quadratic time for a list of objects.
std::size_t json_depth(std::string_view text);

/// The parser's word on a fault, which may quote the text without end, in some length.
/// `what` is "[json.exception.NAME] WHAT".
std::string json_fault(std::string_view what);

/// A document with U+007F to U+009F escaped, which JSON allows in strings and some terminals obey.
/// Only strings have them.
std::string without_control_characters(const std::string& document);

} // namespace gpucontainer::base
