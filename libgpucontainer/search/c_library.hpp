// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// The soname that stands for all libraries of the C library, which are of one version.
inline constexpr const char* c_library = "libc.so.6";

/// The symbol version by which files of one build of the C library use each other. Any has it.
inline constexpr std::string_view private_version = "GLIBC_PRIVATE";

/// Whether it is the C library, its loader or a library released with them. A container always
/// uses the image's.
bool is_of_c_library(std::string_view soname);

/// The symbol versions that a file needs: of each library the newest one of each kind. The parts
/// of the C library count as one library.
Result<std::vector<model::VersionNeed>> read_version_needs(int fd);

/// A version's kind and its number: "GLIBC_" and "2.34".
struct NumberedVersion {
    std::string_view kind;
    std::string_view number; ///< "" if there is none.
};
NumberedVersion split_version(std::string_view version);

/// Whether a library with these versions meets the need. The C library meets it by any newer
/// version: it has all older ones too, although maybe in another of its libraries.
bool is_met(const model::VersionNeed& need, const std::vector<std::string>& versions);

/// The newest version of the kind that is needed: "GLIBC_2.31"; "" if there is none.
std::string newest_of_kind(const model::VersionNeed& need,
                           const std::vector<std::string>& versions);

} // namespace gpucontainer::search
