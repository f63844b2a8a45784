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

/// What undo does about a loader cache that somebody in the container wrote.
namespace gpucontainer::apply {

/// Which paths in a loader cache are those of a set-up.
class OurPaths {
public:
    OurPaths(const program::Program& program, const std::string& tree_path);

    bool contain(std::string_view path) const;
    bool are_in(const elf::LdCache& cache) const;

private:
    const std::string& tree_path_;
    std::set<std::string> mounted_; ///< Not those that cover the image's own.
};

/// Takes our entries out of a loader cache that somebody else wrote meanwhile: what lies in the
/// tree, and what our links led to it. Done as whom the file belongs to, with a new file of
/// our mode; `owner` is whose the names of the set-up are. Errors: apply, when entries
/// of ours are left in a file that may not be replaced so.
Result<void> clean_loader_cache(const program::Program& program, int rootfs_fd,
                                const std::string& tree_path,
                                const std::optional<privilege::Owner>& owner,
                                int table = mount::own_table);

} // namespace gpucontainer::apply
