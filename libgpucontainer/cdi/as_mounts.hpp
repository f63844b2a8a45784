// SPDX-License-Identifier: MIT
#pragma once

#include "cdi/merged.hpp"
#include "model/finding.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::cdi {

/// What the links of hooks lead to.
class Links {
public:
    explicit Links(const Merged& merged);

    struct Link {
        std::string path;
        std::string to;
        Place place;
    };
    const std::vector<Link>& all() const { return links_; }

    /// The path that a name leads to, by links of hooks alone; none if they go round.
    std::optional<std::string> end_of(const std::string& path) const;
    /// The mount that is there; null if there is none.
    const Mount* mount_at(const std::string& path) const;

private:
    const Link* find(const std::string& path) const;

    const Merged& merged_;
    std::vector<Link> links_; ///< Sorted by path.
};

/// A library that programs are to find, by its mount.
struct FoundLibrary {
    const Mount* mount;
    std::string soname;
    bool compat32 = false;
};

/// The libraries in the directories that are named for a loader cache. Files that are no libraries
/// of this machine are passed over.
std::vector<FoundLibrary> libraries_of(const Merged& merged);

/// Does what tasks are for by mounts alone, for a container whose image is not known: a name that
/// would be a link is a mount of the same file, and libraries are mounted where the loader of each
/// family of images looks. What cannot be done so is a finding. The tasks are gone then.
void do_by_mounts(Merged& merged, model::Findings& findings);

} // namespace gpucontainer::cdi
