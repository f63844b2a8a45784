// SPDX-License-Identifier: MIT
#include "import/device_rules.hpp"

#include "fuzz/fuzz.hpp"

namespace gpucontainer::fuzz {

/// The input is the configuration of a bundle.
void run(std::string_view input)
{
    const auto rules = imports::read_device_rules(input);
    if (!rules) {
        demand(rules.error().code() == Errc::usage, "what is wrong is the text");
        return;
    }
    demand(rules->size() <= cgroup::most_rules + cgroup::rules_of_every_container().size(),
           "there are not too many");
    for (const cgroup::OrderedRule& rule : *rules)
        demand(rule.access != 0, "a rule is about something");
    const auto program = cgroup::device_program(*rules);
    for (std::size_t at = 0; at < program.size(); ++at)
        demand(program[at].off >= 0
                   && at + static_cast<std::size_t>(program[at].off) < program.size(),
               "no jump leads out of the program");
    demand(program.back().code == (BPF_JMP | BPF_EXIT), "the program comes to an end");
}

} // namespace gpucontainer::fuzz
