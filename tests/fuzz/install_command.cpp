// SPDX-License-Identifier: MIT
#include "loading/install_command.hpp"

#include "fuzz/fuzz.hpp"

#include <string>

namespace gpucontainer::fuzz {

/// An install command of modprobe.d, which a shell would run.
void run(std::string_view input)
{
    const auto calls = loading::parse_install_command(input);
    if (!calls)
        return;
    std::string text;
    for (const loading::ModprobeCall& call : *calls) {
        demand(!call.module.empty() && call.module.front() != '-', "a module has a name");
        demand((call.module + call.options).find_first_of("|&;$`<>(){}'\"\\*?#!~\n")
                   == std::string::npos,
               "nothing is left that a shell would take for more than words");
        text.append("modprobe ").append(call.ignores_command ? "-i " : "").append(call.module);
        text.append(" ").append(call.options).append(";");
    }
    demand(loading::parse_install_command(text) == calls, "what was read says the same again");
}

} // namespace gpucontainer::fuzz
