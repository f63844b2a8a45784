// SPDX-License-Identifier: MIT
#pragma once

#include "journal/journal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// When a set-up began to change its root, by the clock of files, in nanoseconds.
std::int64_t beginning_of(const journal::Journal& journal);

/// Device nodes of a set-up's drivers that appeared in the root since then, in the places where
/// the drivers' own programs create them. One line for each, for people. They belong to the
/// container. A place that cannot be read has none.
model::Findings find_left_nodes(const journal::Journal& journal, std::int64_t since, int rootfs_fd);

} // namespace gpucontainer::apply
