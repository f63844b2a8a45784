// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

/// JSON documents of OCI runtimes, which may be hostile.
namespace gpucontainer::imports {

/// More than any configuration has, and little enough to be read quickly.
inline constexpr std::size_t largest_document = 4U << 20U;
inline constexpr std::size_t deepest_document = 64;

/// Errors: usage, also for one that is larger or nested deeper than any.
Result<nlohmann::json> parse_document(std::string_view text);

/// A member of an object; null if there is none.
const nlohmann::json* member(const nlohmann::json* object, const char* name);

/// A member, which is made if it is missing or null. Errors: usage, if it is of another type.
Result<nlohmann::json*> made_object(nlohmann::json& object, const char* name);
Result<nlohmann::json*> made_list(nlohmann::json& object, const char* name);

/// The text of a member; "" if there is none, or it has a terminator in it.
std::string_view text_of(const nlohmann::json& object, const char* name);

/// Takes away the elements of a list that `is_old` says, and appends the new ones.
void replace(nlohmann::json& list, const nlohmann::json& added,
             const std::function<bool(const nlohmann::json&)>& is_old);
/// The same: those are old that have the same text in a member as an added element.
void replace_by_name(nlohmann::json& list, const nlohmann::json& added, const char* name);

} // namespace gpucontainer::imports
