// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/yaml_text.hpp"
#include "plan/policy.hpp"
#include "plan/selection.hpp"
#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

using config::Setting;

/// Values of one key follow each other.
std::string to_yaml(const std::vector<Setting>& settings)
{
    std::string yaml;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (i == 0 || settings[i].key != settings[i - 1].key)
            yaml += settings[i].key + ":\n";
        yaml += "  - " + in_quotes(settings[i].value) + "\n";
    }
    return yaml;
}

bool is_same(const Setting& left, const Setting& right)
{
    return left.key == right.key && left.value == right.value;
}

bool is_mistake(const Setting& setting) { return !setting.mistake.empty(); }

/// Nothing is left of a key that has one.
void check_mistake(const Setting& mistake, const std::vector<Setting>& settings)
{
    demand(mistake.mistake.starts_with(base::format("file:{}: {}", mistake.line, mistake.key)),
           "a mistake says where it is");
    demand(std::ranges::none_of(mistake.mistake, base::is_control), "in one line");
    demand(mistake.value.empty(), "it has no value");
    demand(std::ranges::none_of(settings,
                                [&](const Setting& setting) {
                                    return !is_mistake(setting) && setting.key == mistake.key;
                                }),
           "nor has its key");
}

void check_round_trip(std::vector<Setting> settings)
{
    std::erase_if(settings, is_mistake);
    const auto again = config::parse_settings(to_yaml(settings), "file");
    demand(again.has_value(), "what was read can be written");
    demand(std::equal(settings.begin(), settings.end(), again->begin(), again->end(), is_same),
           "and is the same then");
}

std::vector<std::string> values_of(const std::vector<Setting>& settings, std::string_view key)
{
    std::vector<std::string> values;
    for (const Setting& setting : settings)
        if (setting.key == key && !is_mistake(setting))
            values.push_back(setting.value);
    return values;
}

/// A file without a mistake is taken whole: the line of a key is that key's, or text of a
/// value that another key has. Lines end at all that YAML ever took for an end.
void check_lines(std::string_view input, const std::vector<Setting>& settings)
{
    if (std::ranges::any_of(settings, is_mistake))
        return;
    for (const std::string_view key : {"allowed-devices", "catalogue"}) {
        const std::string line = std::string(key) + ": ";
        constexpr std::array<std::string_view, 5> ends = {"\n", "\r", "\u0085", "\u2028", "\u2029"};
        const bool is_there =
            input.starts_with(line) || std::ranges::any_of(ends, [&](std::string_view end) {
                return input.find(std::string(end) + line) != std::string_view::npos;
            });
        const bool is_text = std::ranges::any_of(settings, [&](const Setting& setting) {
            return setting.value.find(key) != std::string::npos;
        });
        demand(!is_there || is_text || !values_of(settings, key).empty(), "no key is lost");
    }
}

std::array<model::DriverStack, 2> machine()
{
    std::array drivers = {test::make_driver(), test::make_driver()};
    drivers[1].vendor = "amd";
    drivers[1].vendor_name = "AMD";
    drivers[1].cdi_kind = "amd.com/gpu";
    for (model::Gpu& gpu : drivers[1].gpus) {
        gpu.uuid.replace(gpu.uuid.find("aaaaaaaa"), 8, "bbbbbbbb");
        gpu.pci_address.front() = '1';
    }
    return drivers;
}

/// Whatever a policy says, it takes away and gives nothing, and an error gives nothing.
void check_policy(const std::string& allowed)
{
    static const auto drivers = machine();
    demand(!allowed.empty(), "a policy is never none");
    const auto meant = plan::parse_devices(drivers, allowed, true);
    for (const bool explicitly : {false, true}) {
        const std::vector<plan::Selection> all = {{{0, 1}, explicitly, true, {}},
                                                  {{0, 1}, explicitly, true, {}}};
        const auto left = plan::restrict_to(allowed, drivers, all);
        if (!left)
            continue;
        demand(meant.has_value() && left->size() == all.size(), "a policy is one that can be read");
        for (std::size_t i = 0; i < left->size(); ++i) {
            demand(std::ranges::includes((*meant)[i].gpus, (*left)[i].gpus),
                   "what is left is allowed");
            demand((*left)[i].gpus.empty() ? !(*left)[i].wanted || explicitly : true,
                   "a driver without a GPU is not wanted");
        }
    }
}

} // namespace

/// A whole configuration file, and what its policy leaves of two drivers' GPUs.
void run(std::string_view input)
{
    const auto settings = config::parse_settings(input, "file");
    if (!settings)
        return;
    for (const Setting& setting : *settings) {
        demand(setting.line >= 1 && setting.line <= input.size() + 1, "a value stands in a line");
        if (!setting.mistake.empty()) {
            check_mistake(setting, *settings);
            continue;
        }
        demand(!setting.key.empty() && !setting.value.empty(), "nothing is empty");
        demand(setting.value.find('\0') == std::string::npos, "a value is a C string");
    }
    check_round_trip(*settings);
    check_lines(input, *settings);
    const auto allowed = values_of(*settings, "allowed-devices");
    if (!allowed.empty())
        check_policy(base::joined(allowed, ","));
}

} // namespace gpucontainer::fuzz
