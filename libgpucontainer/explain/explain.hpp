// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "explain/answer.hpp"
#include "plan/planned.hpp"

#include <string_view>
#include <vector>

namespace gpucontainer::explain {

/// What a plan does with what the name stands for. There are several answers if several things
/// have it, such as libraries for 64-bit and 32-bit programs.
///
/// The name is a soname or the beginning of one up to ".so", the name or path of a file, a device
/// node with or without "/dev/", a word that chooses a GPU, or an unambiguous beginning of a name.
/// `rootfs_fd` is the root that the plan is for; -1: none. Copies of a file are looked for on this
/// host, unless the plan is for a recorded one. Errors: usage, if nothing has the name, with what
/// is similar; rootfs.
Result<std::vector<Answer>> explain(const plan::Planned& planned, std::string_view name,
                                    int rootfs_fd);

} // namespace gpucontainer::explain
