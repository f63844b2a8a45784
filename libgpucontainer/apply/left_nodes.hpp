// SPDX-License-Identifier: MIT
#pragma once

#include "journal/journal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// When a set-up began to change its root, by the clock of files, in ns.
std::int64_t beginning_of(const journal::Journal& journal);

/// Device nodes of a set-up's drivers that came to be in the root since that moment, where
/// the drivers' own programs make them: a line for each, for a person. They are the
/// container's own. A place that cannot be looked at has none.
model::Findings find_left_nodes(const journal::Journal& journal, std::int64_t since, int rootfs_fd);

} // namespace gpucontainer::apply
