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

/// A rule of a catalogue file: a file of a driver, and what it is needed for.
struct FileRule {
    enum class Kind : std::uint8_t { library, tool, data };

    std::size_t line = 0;
    std::string vendor; ///< "nvidia"
    Kind kind = Kind::library;
    /// Without '/', not empty; for data, an absolute path. Not a tool's may have "{version}" once.
    std::string name;
    std::string capability;    ///< One of capability_names.
    std::string also = "none"; ///< A second capability.
    bool entry = false;
    bool unversioned = false;
    std::string icd;    ///< File name in /etc/OpenCL/vendors; empty without one.
    std::string module; ///< Directory beside libraries, or a name "x.so" in one; may be empty.
    bool own = false;
    std::string manifests; ///< "MANNER/NAME.json" with commas between.
    std::string loads;     ///< Sonames with commas between.
    bool neutral = false;
    std::string links;  ///< File names with commas between.
    std::string reason; ///< One line, not empty.
};

/// Checks that a library or tool can have the rule's name. An error names the rule's line.
Result<void> check_name(const FileRule& rule);

/// The name without its version: "libcuda" for "libcuda.so.1". A tool's whole name, or the path
/// of data. Empty if a library cannot have the name.
std::string_view stem_of(FileRule::Kind kind, std::string_view name);

/// The content of a catalogue file.
struct CatalogueFile {
    std::string vendor;                 ///< Vendor of the driver that gets the rules.
    std::size_t vendor_line = 0;        ///< Line of `vendor`.
    std::shared_ptr<const Maker> maker; ///< Null if the file describes none.
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
/// Libraries may have `icd: NAME.icd`, `manifests: [MANNER/NAME.json]`, `module: DIRECTORY` or
/// `module: DIRECTORY/NAME.so`, `loads: [SONAME]` and `own: true`. `also`, `entry` and
/// `unversioned` may be left out. Fails on the first mistake
/// with its line and what is allowed there: an unknown or repeated key, a value
/// out of its set, two rules for one file. Libraries that differ only behind
/// ".so" are one file. At most 4096 rules. `vendor` is any name: who there is, the
/// registry of the makers knows. With a section `maker`, as read_maker() has it, `files` may
/// be left out.
Result<CatalogueFile> parse_catalogue(std::string_view yaml);

} // namespace gpucontainer::config
