// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/draft.hpp"

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Whether an entry of the image is a file of ours, that an earlier set-up put there.
bool is_ours(const rootfs::Entry& entry, const model::DriverFile& file);

/// The image's own libraries, as its loader and by habit its programs find them. What a
/// set-up put there does not count.
class ImageLibraries {
public:
    /// After look_at_image(). Borrows from the draft.
    explicit ImageLibraries(const Draft& draft) : draft_(draft) {}

    /// The library with the soname of `file` that its loader finds; "" when there is none
    /// of this machine.
    std::string find(const model::DriverFile& file) const;

    /// Also in the directories where an image may keep a vendor's.
    std::string find_anywhere(const model::DriverFile& file) const;

    /// The symbol versions that it has. Errors: rootfs, where it cannot be read.
    Result<std::vector<std::string>> versions_of(const std::string& path) const;

private:
    std::string first_of(const std::vector<std::string>& paths,
                         const model::DriverFile& file) const;
    std::vector<std::string> places_of(const std::string& soname) const;
    bool is_library(const std::string& path) const;

    const Draft& draft_;
    mutable std::map<std::string, std::vector<std::string>> versions_;
};

} // namespace gpucontainer::plan
