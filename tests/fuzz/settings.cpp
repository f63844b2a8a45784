// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/yaml_text.hpp"

#include <algorithm>
#include <string>

namespace gpucontainer::fuzz {
namespace {

/// Values of one key follow each other.
std::string to_yaml(const std::vector<config::Setting>& settings)
{
    std::string yaml;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (i == 0 || settings[i].key != settings[i - 1].key)
            yaml += settings[i].key + ":\n";
        yaml += "  - " + quoted(settings[i].value) + "\n";
    }
    return yaml;
}

bool is_same(const config::Setting& left, const config::Setting& right)
{
    return left.key == right.key && left.value == right.value;
}

} // namespace

/// A configuration file.
void run(std::string_view input)
{
    const auto settings = config::parse_settings(input);
    if (!settings)
        return;
    for (const config::Setting& setting : *settings) {
        demand(!setting.key.empty() && !setting.value.empty(), "nothing is empty");
        demand(setting.value.find('\0') == std::string::npos, "a value is a C string");
        demand(setting.line >= 1 && setting.line <= input.size() + 1, "a value stands in a line");
    }
    const auto again = config::parse_settings(to_yaml(*settings));
    demand(again.has_value(), "what was read can be written");
    demand(std::equal(settings->begin(), settings->end(), again->begin(), again->end(), is_same),
           "and is the same then");
}

} // namespace gpucontainer::fuzz
