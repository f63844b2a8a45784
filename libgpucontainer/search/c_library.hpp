// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// The soname that stands for all of the C library, whose parts are of one version.
inline constexpr const char* c_library = "libc.so.6";

/// The C library, its loader and what is released with them: never a vendor's, and
/// always the image's.
bool is_of_c_library(std::string_view soname);

/// What the file behind `fd` needs of others' symbols: of each library the newest
/// version of each kind, and of the C library's parts the newest of all.
Result<std::vector<model::VersionNeed>> read_version_needs(int fd);

/// A version's kind and its number: "GLIBC_" and "2.34".
struct NumberedVersion {
    std::string_view kind;
    std::string_view number; ///< Empty where there is none.
};
NumberedVersion split_version(std::string_view version);

/// Whether a library that has these versions serves a file with this need. The C
/// library has all versions before its own, under some other library's name perhaps.
bool is_met(const model::VersionNeed& need, const std::vector<std::string>& versions);

/// The newest of the kind that is needed: "GLIBC_2.31"; "" when there is none.
std::string newest_of_kind(const model::VersionNeed& need,
                           const std::vector<std::string>& versions);

} // namespace gpucontainer::search
