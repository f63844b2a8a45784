// SPDX-License-Identifier: MIT
#include "plan/visible_devices.hpp"

#include "base/text.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace gpucontainer::plan {
namespace {

using vendor::DriverStack;
using vendor::VisibleDevices;
using Reader = VisibleDevices::Reader;
using Inside = VisibleDevices::Inside;
using All = std::vector<Counted>;

bool contains(const std::vector<unsigned>& gpus, unsigned gpu)
{
    return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
}

/// Whether a variable has the value that `setting` gives it: "NAME=VALUE".
bool holds(const Environment& environment, const std::string& setting)
{
    const auto equals = setting.find('=');
    const auto set = environment.find(setting.substr(0, equals));
    return equals != std::string::npos && set != environment.end()
           && set->second == std::string_view(setting).substr(equals + 1);
}

bool counts_parts(const VisibleDevices& variable, const Environment& environment)
{
    return !variable.whole_if.empty() && !holds(environment, variable.whole_if);
}

All whole(const std::vector<unsigned>& gpus)
{
    All all;
    for (const unsigned gpu : gpus)
        all.push_back({gpu, std::nullopt});
    return all;
}

/// As the vendor's programs count GPUs that nothing has put into another order.
All as_programs_count(const DriverStack& driver, const std::vector<unsigned>& gpus)
{
    All all = whole(gpus);
    const auto& order = driver.library_order;
    std::ranges::stable_sort(all, {}, [&](const Counted& one) {
        return std::ranges::find(order, one.gpu) - order.begin();
    });
    return all;
}

/// As the readers of a variable count what is left to them.
All count(const DriverStack& driver, const VisibleDevices& variable, const Environment& environment,
          All left)
{
    if (holds(environment, variable.pci_order_if))
        std::ranges::stable_sort(left, {}, [&](const Counted& one) {
            return std::string_view(driver.gpus[one.gpu].pci_address);
        });
    if (!counts_parts(variable, environment))
        return left;
    All parts;
    for (const Counted& one : left) {
        const unsigned number = driver.gpus[one.gpu].parts;
        if (one.part || number < 2)
            parts.push_back(one);
        else
            for (unsigned part = 0; part < number; ++part)
                parts.push_back({one.gpu, part});
    }
    return parts;
}

/// What one variable says to those who read it.
class Words {
public:
    Words(const DriverStack& driver, const VisibleDevices& variable, const All& seen)
        : driver_(driver), variable_(variable), seen_(seen)
    {
    }

    All read(std::string_view value) const
    {
        All left;
        for (const std::string_view part : base::split(value, ',')) {
            const All found = find(base::trim(part));
            if (found.empty() && variable_.reader == Reader::library)
                break;
            left.insert(left.end(), found.begin(), found.end());
        }
        return variable_.reader == Reader::filter ? in_order(left) : left;
    }

    /// The words for these; none where one has no such word.
    std::optional<std::string> write(const All& counted) const
    {
        std::vector<std::string> all;
        for (const Counted& one : counted) {
            all.push_back(word_for(one));
            if (all.back().empty())
                return std::nullopt;
        }
        return fmt::format("{}", fmt::join(all, ","));
    }

private:
    All find(std::string_view word) const
    {
        if (variable_.reader == Reader::runtime && base::to_lower(word) == "all")
            return seen_;
        if (!variable_.prefix.empty())
            return find_seen(variable_.prefix + std::string(word));
        if (variable_.reader == Reader::filter)
            return find_position(word);
        // A library's index counts among the GPUs that it sees. It knows no ranges.
        if (variable_.reader == Reader::library && is_index(word))
            return find_position(word);
        return find_seen(word);
    }

    /// None where nothing that is seen is called so.
    All find_seen(std::string_view word) const
    {
        const auto found = find_gpus(driver_, word);
        All left;
        for (const unsigned gpu : found ? *found : std::vector<unsigned>())
            for (const Counted& one : seen_)
                if (one.gpu == gpu)
                    left.push_back(one);
        return left;
    }

    /// "1", or "1.0" for a part of it where that is not counted itself.
    All find_position(std::string_view word) const
    {
        const auto dot = word.find('.');
        const auto position = base::to_number(word.substr(0, dot));
        if (!position || *position >= seen_.size())
            return {};
        const Counted& one = seen_[*position];
        if (dot == std::string_view::npos)
            return {one};
        const auto part = base::to_number(word.substr(dot + 1));
        if (one.part || !part || *part >= driver_.gpus[one.gpu].parts)
            return {};
        return {{one.gpu, static_cast<unsigned>(*part)}};
    }

    /// Each once, in the order of what is seen.
    All in_order(const All& found) const
    {
        All left;
        const auto add = [&](const Counted& one) {
            const bool is_found = std::ranges::find(found, one) != found.end();
            if (is_found)
                left.push_back(one);
            return is_found;
        };
        for (const Counted& one : seen_) {
            if (add(one) || one.part)
                continue;
            for (unsigned part = 0; part < driver_.gpus[one.gpu].parts; ++part)
                add({one.gpu, part});
        }
        return left;
    }

    std::string word_for(const Counted& one) const
    {
        if (variable_.inside == Inside::uuid)
            return driver_.gpus[one.gpu].uuid;
        if (variable_.inside == Inside::name)
            return name_of(one.gpu);
        const auto exact = std::ranges::find(seen_, one);
        if (exact != seen_.end())
            return std::to_string(exact - seen_.begin());
        const auto all_of_it = std::ranges::find(seen_, one.gpu, &Counted::gpu);
        return fmt::format("{}.{}", all_of_it - seen_.begin(), one.part.value_or(0));
    }

    std::string name_of(unsigned gpu) const
    {
        for (const std::string& name : driver_.gpus[gpu].names)
            if (name.starts_with(variable_.prefix))
                return name.substr(variable_.prefix.size());
        return "";
    }

    const DriverStack& driver_;
    const VisibleDevices& variable_;
    const All& seen_;
};

bool is_obeyed(const VisibleDevices& variable, std::string_view value)
{
    if (value.empty() && variable.empty_is_unset)
        return false;
    if (variable.reader == Reader::filter)
        return !value.empty() && value != "default";
    return variable.reader != Reader::process;
}

/// Which GPUs a variable names inside; none where it has nothing to say.
std::optional<All> named_inside(const DriverStack& driver, const VisibleDevices& variable,
                                const std::vector<VisibleLayer>& layers,
                                const std::vector<unsigned>& chosen, const All& seen)
{
    const bool is_subset = chosen.size() < driver.gpus.size();
    if (variable.reader == Reader::process)
        return is_subset && chosen.size() == 1 ? std::optional(whole(chosen)) : std::nullopt;
    const auto layer = std::ranges::find(
        layers, variable.name, [](const VisibleLayer& obeyed) { return obeyed.variable.name; });
    if (layer == layers.end())
        return variable.always && is_subset ? std::optional(seen) : std::nullopt;
    if (variable.inside == Inside::nothing)
        return std::nullopt;
    All left = layer->left;
    std::erase_if(left, [&](const Counted& one) { return !contains(chosen, one.gpu); });
    return left;
}

/// Programs would take the words of another vendor's variable, as `taken`, for theirs.
bool needs_preferred(const VisibleDevices& variable, const Environment& environment,
                     const Variable& taken)
{
    const auto set = environment.find(variable.preferred);
    return taken.action == "set" && !variable.preferred.empty()
           && (set == environment.end() || set->second.empty());
}

const Variable* find_variable(const std::vector<Variable>& variables, std::string_view name)
{
    const auto found = std::ranges::find(variables, name, &Variable::name);
    return found == variables.end() ? nullptr : &*found;
}

Variable set_or_unset(const std::string& name, const std::optional<std::string>& value)
{
    return value ? Variable{"set", name, *value} : Variable{"unset", name, ""};
}

/// What is set inside for GPUs that are `named`, which those after it count then.
std::optional<std::string> value_inside(const DriverStack& driver, const Environment& environment,
                                        const VisibleDevices& variable,
                                        const std::optional<All>& named, All& seen)
{
    if (!named || (!variable.decides && named->empty()))
        return std::nullopt;
    const All counted = count(driver, variable, environment, seen);
    std::optional<std::string> value = Words(driver, variable, counted).write(*named);
    if (value && variable.decides)
        seen = *named;
    return value;
}

} // namespace

std::vector<unsigned> gpus_of(const std::vector<Counted>& counted)
{
    std::vector<unsigned> gpus;
    gpus.reserve(counted.size());
    for (const Counted& one : counted)
        gpus.push_back(one.gpu);
    std::sort(gpus.begin(), gpus.end());
    gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
    return gpus;
}

std::vector<VisibleLayer> narrow(const DriverStack& driver, const Environment& environment,
                                 const std::vector<unsigned>& granted)
{
    std::vector<VisibleLayer> layers;
    All seen = as_programs_count(driver, granted);
    for (const VisibleDevices& variable : driver.visible_devices) {
        const auto set = environment.find(variable.name);
        if (set == environment.end() || !is_obeyed(variable, set->second))
            continue;
        const All counted = count(driver, variable, environment, seen);
        All left = Words(driver, variable, counted).read(set->second);
        layers.push_back({variable, set->second, left});
        if (!variable.decides)
            continue;
        if (left.empty())
            break;
        const bool is_of_runtime = variable.reader == Reader::runtime;
        seen = is_of_runtime && !driver.library_order.empty()
                   ? as_programs_count(driver, gpus_of(left))
                   : std::move(left);
    }
    return layers;
}

const VisibleLayer* deciding(const std::vector<VisibleLayer>& layers)
{
    const VisibleLayer* last = nullptr;
    for (const VisibleLayer& layer : layers)
        if (layer.variable.decides)
            last = &layer;
    return last;
}

std::vector<Variable> visible_inside(const DriverStack& driver, const Environment& environment,
                                     const std::vector<VisibleLayer>& layers,
                                     const std::vector<unsigned>& chosen,
                                     const std::vector<Variable>& others)
{
    std::vector<Variable> variables;
    All seen = as_programs_count(driver, chosen);
    for (const VisibleDevices& variable : driver.visible_devices) {
        if (const Variable* const taken = find_variable(others, variable.name)) {
            if (needs_preferred(variable, environment, *taken))
                variables.push_back(
                    {"set", variable.preferred, *Words(driver, variable, seen).write(seen)});
            continue;
        }
        const bool was_set = environment.contains(variable.name);
        if (find_variable(variables, variable.name) != nullptr || (!was_set && !variable.always))
            continue;
        const auto value = value_inside(driver, environment, variable,
                                        named_inside(driver, variable, layers, chosen, seen), seen);
        if (value || (was_set && variable.reader != Reader::process))
            variables.push_back(set_or_unset(variable.name, value));
    }
    return variables;
}

} // namespace gpucontainer::plan
