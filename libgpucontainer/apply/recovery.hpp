// SPDX-License-Identifier: MIT
#pragma once

#include "journal/journal.hpp"
#include "program/executor.hpp"

namespace gpucontainer::apply {

/// For a journal of an apply that was cut off: mark those of its operations as
/// done whose outcome is there and can be told to be ours, so that undo takes
/// them back: what was made at that time, with our mode, in the directory that the journal
/// names. Names are looked for once the mounts that hide them are gone. False when
/// it could not be told of one whether it is there: `failure` says of which first.
bool adopt_mounts(const journal::Journal& journal, int rootfs_fd, program::Failure& failure,
                  int table = mount::own_table);
bool adopt_names(const journal::Journal& journal, int rootfs_fd, program::Failure& failure,
                 int table = mount::own_table);

} // namespace gpucontainer::apply
