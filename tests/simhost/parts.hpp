// SPDX-License-Identifier: MIT
#pragma once

#include "stand_up.hpp"
#include "tree.hpp"

namespace gpucontainer::simhost {

/// What the parts of a host share while it is stood up.
struct Stage {
    const Recording& host;
    const StandUpOptions& options;
    std::string path; ///< Where the tmpfs with everything made is mounted meanwhile.
    StoodUp result;

    void leave_out(std::string_view what, const Error& reason);
};

/// A Tree in the directory `name` of the stage, which appears with it.
Result<Tree> make_tree(const Stage& stage, const std::string& name);

// The parts: each builds a tree of its own on the stage and mounts it. What the kernel refuses to
// one part is left out; an error is one of the recording or of this program.
Result<void> stand_up_files(Stage& stage);
Result<void> stand_up_dev(Stage& stage);
Result<void> stand_up_sys(Stage& stage);
Result<void> stand_up_proc(Stage& stage);

} // namespace gpucontainer::simhost
