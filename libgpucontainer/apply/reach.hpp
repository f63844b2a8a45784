// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "journal/journal.hpp"

#include <string>

namespace gpucontainer::apply {

/// The root of a journal, at the path that it had, where its mount is now, or where its
/// names are; none when that leads nowhere or to another directory. The path is only a
/// hint: what it leads to is looked at.
struct Reached {
    base::UniqueFd fd;
    journal::RootId root;
};
Result<Reached> reach(const journal::Journal& journal, const journal::Viewpoint& here);
/// What such a root is called: that of a container that ended has a path, too.
std::string path_of(const journal::Journal& journal, const Reached& reached);

/// Nothing of the set-up can be left in a root that was not reached.
bool may_be_forgotten(const journal::Journal& journal, const journal::Viewpoint& here);

} // namespace gpucontainer::apply
