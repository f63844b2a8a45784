// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/scratch.hpp"

#include <fstream>
#include <string>

namespace gpucontainer::fuzz {

/// The input is the configuration of a bundle, and the state of its container as well.
void run(std::string_view input)
{
    static const Scratch bundle({}, {});
    std::ofstream(bundle.path() / "config.json", std::ios::binary) << input;
    const std::string known =
        base::format(R"({{"pid": 1, "bundle": "{}"}})", bundle.path().string());
    for (const std::string_view text : {std::string_view(known), input}) {
        const auto state = imports::read_hook_state(text);
        if (!state) {
            demand(state.error().code() == Errc::usage, "what is wrong is the text");
            continue;
        }
        demand(state->pid >= 0, "a process has a number");
        demand(state->rootfs.starts_with('/'), "the root directory has an absolute path");
        demand(state->rootfs.find('\0') == std::string::npos, "that path has no terminator");
        for (const std::string& variable : state->variables)
            demand(variable.find('=') != std::string::npos
                       && variable.find('\0') == std::string::npos,
                   "a variable is NAME=VALUE");
    }
}

} // namespace gpucontainer::fuzz
