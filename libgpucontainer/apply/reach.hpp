// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "journal/journal.hpp"

#include <string>

namespace gpucontainer::apply {

/// Opens the root of a journal: at its recorded path, at the present path of its mount, or where
/// its names are. None if these lead nowhere or to another directory. The path is only a hint;
/// what it leads to is checked.
struct Reached {
    base::UniqueFd fd;
    journal::RootId root;
};
Result<Reached> reach(const journal::Journal& journal, const journal::Viewpoint& here);
/// The present path of such a root, which the root of an ended container may have too.
std::string path_of(const journal::Journal& journal, const Reached& reached);

/// Whether nothing of the set-up can be left in a root that was not reached.
bool may_be_forgotten(const journal::Journal& journal, const journal::Viewpoint& here);

} // namespace gpucontainer::apply
