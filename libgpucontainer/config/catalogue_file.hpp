// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// What a file may be needed for. `none`: known, and never wanted in a container.
inline constexpr std::array<std::string_view, 7> capability_names = {
    "none", "compute", "utility", "graphics", "video", "display", "ngx"};

/// Whose driver a catalogue describes.
inline constexpr std::array<std::string_view, 4> vendor_names = {"nvidia", "amd", "intel",
                                                                 "habana"};

/// One rule of a catalogue file: a file of a driver, and what it is needed for.
struct FileRule {
    enum class Kind : std::uint8_t { library, tool, data };

    std::size_t line = 0;
    std::string vendor; ///< One of vendor_names.
    Kind kind = Kind::library;
    /// Not empty, no '/'; "{version}" once in a library's at most. Of data an absolute path.
    std::string name;
    std::string capability;    ///< One of capability_names.
    std::string also = "none"; ///< A second one of capability_names.
    bool entry = false;
    bool unversioned = false;
    std::string icd;    ///< File name in /etc/OpenCL/vendors; empty without one.
    std::string module; ///< Directory beside libraries; empty for one of its own kind.
    bool own = false;
    std::string reason; ///< One line, not empty.
};

/// Whether the rule's name is one that a library or tool can have; an error
/// names the rule's line.
Result<void> check_name(const FileRule& rule);

/// What names the file whatever its version: "libcuda" for "libcuda.so.1". All
/// of a tool's name or the path of data; empty for a name that is no library's.
std::string_view stem_of(FileRule::Kind kind, std::string_view name);

/// Reads a catalogue file:
///
///     vendor: nvidia
///     files:
///       - library: libcuda.so.1
///         capability: compute
///         entry: true
///         reason: CUDA driver API, loaded by every CUDA program
///       - tool: nvidia-smi
///         capability: utility
///         reason: shows and sets the state of GPUs
///
/// or `data: /usr/share/...`, a file or directory that libraries read at that path.
/// Libraries may have `icd: NAME.icd`, `module: DIRECTORY` and `own: true`. `also`, `entry` and
/// `unversioned` may be left out. Fails on the first mistake
/// with its line and what is allowed there: an unknown or repeated key, a value
/// out of its set, two rules for one file. Libraries that differ only behind
/// ".so" are one file. At most 4096 rules.
Result<std::vector<FileRule>> parse_catalogue(std::string_view yaml);

} // namespace gpucontainer::config
