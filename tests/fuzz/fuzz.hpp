// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace gpucontainer::fuzz {

/// What a target does with one input; each defines its own. An input that breaks
/// nothing returns.
void run(std::string_view input);

/// Gives the target each file of the directories, without libFuzzer. The name of the last
/// one is printed when it is a finding. Returns an exit status.
int replay(std::span<char*> directories);

/// What has to hold of whatever was read; what does not is a finding.
inline void demand(bool holds, std::string_view what)
{
    if (holds)
        return;
    (void)std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
}

} // namespace gpucontainer::fuzz
