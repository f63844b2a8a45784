// SPDX-License-Identifier: MIT
#include "plan/visible_devices.hpp"

#include "base/text.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace gpucontainer::plan {
namespace {

using vendor::VisibleDevices;

bool contains(const std::vector<unsigned>& gpus, unsigned gpu)
{
    return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
}

/// None where no GPU that is seen is called so.
std::vector<unsigned> find_seen(const vendor::DriverStack& driver, std::string_view word,
                                const std::vector<unsigned>& seen)
{
    auto found = find_gpus(driver, word);
    if (!found)
        return {};
    std::erase_if(*found, [&](unsigned gpu) { return !contains(seen, gpu); });
    return *std::move(found);
}

/// As a vendor's library reads a word: an index counts among the GPUs that it sees,
/// and others do not exist. It knows no ranges.
std::vector<unsigned> seen_by_library(const vendor::DriverStack& driver, std::string_view word,
                                      const std::vector<unsigned>& seen)
{
    if (!is_index(word))
        return find_seen(driver, word, seen);
    const auto number = base::to_number(word);
    return number && *number < seen.size() ? std::vector{seen[*number]} : std::vector<unsigned>();
}

std::vector<unsigned> seen_by_runtime(const vendor::DriverStack& driver, std::string_view word,
                                      const std::vector<unsigned>& seen)
{
    return base::to_lower(word) == "all" ? seen : find_seen(driver, word, seen);
}

std::vector<unsigned> read(const vendor::DriverStack& driver, const VisibleDevices& variable,
                           std::string_view value, const std::vector<unsigned>& seen)
{
    const bool by_library = variable.reader == VisibleDevices::Reader::library;
    std::vector<unsigned> left;
    for (const std::string_view part : base::split(value, ',')) {
        const std::string_view word = base::trim(part);
        const auto found =
            by_library ? seen_by_library(driver, word, seen) : seen_by_runtime(driver, word, seen);
        if (found.empty() && by_library)
            break;
        left.insert(left.end(), found.begin(), found.end());
    }
    return left;
}

/// In which words a variable names GPUs; none where a GPU has no such word.
std::optional<std::string> words(const vendor::DriverStack& driver, VisibleDevices::Inside inside,
                                 const std::vector<unsigned>& gpus,
                                 const std::vector<unsigned>& seen)
{
    std::vector<std::string> all;
    for (const unsigned gpu : gpus) {
        if (inside == VisibleDevices::Inside::uuid)
            all.push_back(driver.gpus[gpu].uuid);
        else if (inside == VisibleDevices::Inside::index)
            all.push_back(std::to_string(gpu));
        else
            all.push_back(std::to_string(std::find(seen.begin(), seen.end(), gpu) - seen.begin()));
    }
    if (std::find(all.begin(), all.end(), "") != all.end())
        return std::nullopt;
    return fmt::format("{}", fmt::join(all, ","));
}

} // namespace

std::vector<VisibleLayer> narrow(const vendor::DriverStack& driver, const Environment& environment,
                                 const std::vector<unsigned>& granted)
{
    std::vector<VisibleLayer> layers;
    std::vector<unsigned> seen = granted;
    for (const VisibleDevices& variable : driver.visible_devices) {
        const auto set = environment.find(variable.name);
        if (set == environment.end())
            continue;
        seen = read(driver, variable, set->second, seen);
        layers.push_back({variable, set->second, seen});
        if (seen.empty())
            break;
    }
    return layers;
}

std::vector<Variable> visible_inside(const vendor::DriverStack& driver,
                                     const Environment& environment,
                                     const std::vector<VisibleLayer>& layers,
                                     const std::vector<unsigned>& chosen)
{
    std::vector<Variable> variables;
    std::vector<unsigned> seen = chosen;
    for (const VisibleDevices& variable : driver.visible_devices) {
        if (!environment.contains(variable.name))
            continue;
        const auto layer = std::ranges::find(
            layers, variable.name, [](const VisibleLayer& obeyed) { return obeyed.variable.name; });
        std::optional<std::string> value;
        if (layer != layers.end() && variable.inside != VisibleDevices::Inside::nothing) {
            std::vector<unsigned> left = layer->gpus;
            std::erase_if(left, [&](unsigned gpu) { return !contains(chosen, gpu); });
            value = words(driver, variable.inside, left, seen);
            if (value)
                seen = std::move(left);
        }
        variables.push_back({value ? "set" : "unset", variable.name, value.value_or("")});
    }
    return variables;
}

} // namespace gpucontainer::plan
