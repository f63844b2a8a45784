// SPDX-License-Identifier: MIT
#pragma once

#include "journal/journal.hpp"
#include "plan/item.hpp"

#include <vector>

namespace gpucontainer::apply {

/// What undo takes away of a set-up, in the form of a plan's items and in the order in which they
/// were made. A journal has no sources of mounts, reasons or owners.
std::vector<plan::Item> items_of(const journal::Journal& journal);

} // namespace gpucontainer::apply
