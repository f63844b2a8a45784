// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/specification.hpp"

#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::cdi {

/// The versions that are known and in use, the oldest first.
std::span<const std::string_view> versions();

/// The known version that a text names, maybe with a "v" in front; "" if it is none.
std::string_view known_version(std::string_view text);

/// Whether one known version is older than another.
bool is_older(std::string_view version, std::string_view other);

/// The lowest version that has all that a specification uses, and what needs it.
struct Need {
    std::string_view version;
    std::string what; ///< "device 0: a name that begins with a digit"; "" for the oldest version.
};
Need lowest_version(const Specification& specification);

/// Sets the lowest version, or the one that is asked for unless that is "". Errors: usage, if it
/// is unknown, or older than what the specification uses.
Result<void> set_version(Specification& specification, std::string_view wanted);

} // namespace gpucontainer::cdi
