// SPDX-License-Identifier: MIT
#pragma once

#include "journal/journal.hpp"
#include "program/executor.hpp"

namespace gpucontainer::apply {

/// For a journal of an interrupted apply: marks the operations as done whose result exists and is
/// certainly ours, so that undo reverses them. A name is ours if it was made at that time, with
/// our mode, in the directory that the journal names. Names are looked for after the mounts that
/// hide them are gone. False if that could not be found out for all; `failure` is the first.
bool adopt_mounts(const journal::Journal& journal, int rootfs_fd, program::Failure& failure,
                  int table = mount::own_table);
bool adopt_names(const journal::Journal& journal, int rootfs_fd, program::Failure& failure,
                 int table = mount::own_table);

} // namespace gpucontainer::apply
