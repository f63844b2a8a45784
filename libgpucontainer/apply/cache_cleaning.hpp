// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "elf/ld_cache.hpp"
#include "mount/table.hpp"
#include "privilege/file_owner.hpp"
#include "program/program.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace gpucontainer::apply {

/// Tells which paths in a loader cache are those of a set-up.
class OurPaths {
public:
    OurPaths(const program::Program& program, const std::string& tree_path);

    bool contain(std::string_view path) const;
    bool are_in(const elf::LdCache& cache) const;

private:
    const std::string& tree_path_;
    std::set<std::string> mounted_; ///< Without mounts over the image's own files.
};

/// Removes our entries from a loader cache that somebody in the container wrote meanwhile: files
/// in the tree, and our links to them. Works as the file's owner and makes a new file with our
/// mode. `owner` is the owner of the set-up's names. Errors: apply, if entries of ours remain in a
/// file that may not be replaced.
Result<void> clean_loader_cache(const program::Program& program, int rootfs_fd,
                                const std::string& tree_path,
                                const std::optional<privilege::Owner>& owner,
                                int table = mount::own_table);

} // namespace gpucontainer::apply
