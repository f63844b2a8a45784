// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::model {

/// What a container may use a GPU for. A file with `none` is known, and given to no container.
enum class Capability : std::uint8_t {
    none,
    compute,
    utility,
    graphics,
    video,
    display,
    ngx,
    firmware, ///< What the kernel module loads. Only a container that loads modules has use for it.
    compat32, ///< The 32-bit libraries of the other capabilities that were asked for.
};

enum class FileKind : std::uint8_t { library, tool, data };

std::string_view name(Capability capability);
std::string_view name(FileKind kind);
std::optional<Capability> parse_capability(std::string_view text);
std::optional<FileKind> parse_file_kind(std::string_view text);

/// One file of a driver, and what it is needed for.
struct CatalogueRule {
    FileKind kind;
    Capability capability;
    /// A second capability that does not work without it, else none.
    Capability also;
    /// A library's SONAME or the path of data, with "{version}" for the driver version; a tool's
    /// file name.
    std::string_view name;
    /// Programs load it by this name, so the image's library directory gets a link to it too.
    bool entry;
    /// The real file's name need not end in the driver version.
    bool unversioned;
    /// Why a container needs it, in one line.
    std::string_view reason;
    std::string_view icd = {}; ///< Name of its Registration as Manner::opencl_icd; "": none.
    /// The same for Manner::module_directory; for Manner::module_name if it ends in ".so".
    std::string_view module = {};
    bool own = false; ///< It has Precedence::runtime.
    /// Other Registrations, with commas between: "egl_vendor/10_nvidia.json".
    std::string_view manifests = {};
    /// Sonames of what it loads by name and does not work without, with commas between.
    std::string_view loads = {};
    /// The distribution builds it, for programs of any vendor: it has Precedence::image.
    bool neutral = false;
    /// Other names that the driver's installer gives it, with commas between.
    std::string_view links = {};
};

using Catalogue = std::span<const CatalogueRule>;

/// The rule for a file of any version; null if there is none. A library is compared by its name up
/// to ".so", so that one with an unusual suffix is classified too; other files by the whole name.
const CatalogueRule* find_rule(Catalogue catalogue, FileKind kind, std::string_view file_name);

bool serves(const CatalogueRule& rule, Capability capability);

/// A text of a rule, with the version for each "{version}".
std::string with_version(std::string_view text, std::string_view driver_version);

/// The rule's name in a driver of this version.
std::string soname_of(const CatalogueRule& rule, std::string_view driver_version);

} // namespace gpucontainer::model
