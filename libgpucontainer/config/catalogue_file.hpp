// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/maker.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// One rule of a catalogue file: a file of a driver, and what it is needed for.
struct FileRule {
    enum class Kind : std::uint8_t { library, tool, data };

    std::size_t line = 0;
    std::string vendor; ///< "nvidia"
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

/// A catalogue file as it was read.
struct CatalogueFile {
    std::string vendor;                 ///< Whose driver the rules are of.
    std::size_t vendor_line = 0;        ///< Where that stands.
    std::shared_ptr<const Maker> maker; ///< Null where the file describes none.
    std::vector<FileRule> rules;
};

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
/// ".so" are one file. At most 4096 rules. `vendor` is any name: who there is, the
/// registry of the makers knows. With a section `maker`, as read_maker() has it, `files` may
/// be left out.
Result<CatalogueFile> parse_catalogue(std::string_view yaml);

} // namespace gpucontainer::config
