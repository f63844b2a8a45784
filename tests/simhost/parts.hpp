// SPDX-License-Identifier: MIT
#pragma once

#include "stand_up.hpp"
#include "tree.hpp"

namespace gpucontainer::simhost {

/// What the parts of a host share while it is stood up.
struct Context {
    const Recording& host;
    const StandUpOptions& options;
    std::string path; ///< Where the tmpfs with everything made is mounted meanwhile.
    StoodUp result;

    void leave_out(std::string_view what, const Error& reason);
};

/// A Tree in the directory `name` of that, which appears with it.
Result<Tree> make_tree(const Context& context, const std::string& name);

// The parts: each builds a tree of its own there and mounts it. What the kernel refuses to
// one part is left out; an error is one of the recording or of this program.
Result<void> stand_up_files(Context& context);
Result<void> stand_up_dev(Context& context);
Result<void> stand_up_sys(Context& context);
Result<void> stand_up_proc(Context& context);

} // namespace gpucontainer::simhost
