// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/draft.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Whether an entry of the image is our file, which an earlier set-up put there.
bool is_ours(const rootfs::Entry& entry, const model::DriverFile& file);

/// Whether an entry of the image is this file.
bool is_file(const rootfs::Entry& entry, const model::FileId& id);

/// Directories that programs of the container search before all others, as its variables have them:
/// LD_LIBRARY_PATH.
std::vector<std::string> searched_first(const Request& request);

/// Whether the path has one meaning in the loader's configuration and in variables, and can be
/// shown.
bool is_plain_path(std::string_view path);

/// The image's own libraries, as its loader and its programs find them. Files that a set-up put
/// there do not count.
class ImageLibraries {
public:
    /// Call look_at_image() before. It borrows from the draft.
    explicit ImageLibraries(const Draft& draft) : draft_(draft) {}

    /// The library with the soname of `file` that the image's loader finds; "" if there is none for
    /// the file's machine.
    std::string find(const model::DriverFile& file) const;

    /// The same, also in directories where images may keep the vendor's libraries.
    std::string find_anywhere(const model::DriverFile& file) const;

    /// Real paths of all libraries with this soname for the draft's machine that programs may load,
    /// each once. Those that a set-up put over the image's are among them, but no tree's.
    std::vector<std::string> copies_of(const std::string& soname) const;

    /// The symbol versions of a library. Errors: rootfs, if it cannot be read.
    Result<std::vector<std::string>> versions_of(const std::string& path) const;

private:
    std::string first_of(const std::vector<std::string>& paths,
                         const model::DriverFile& file) const;
    std::vector<std::string> places_of(const model::DriverFile& file) const;
    bool is_library(const std::string& path, bool compat32) const;
    const std::vector<std::string>& all_directories() const;

    const Draft& draft_;
    mutable std::map<std::string, std::vector<std::string>> versions_;
    mutable std::optional<std::vector<std::string>> directories_;
};

} // namespace gpucontainer::plan
