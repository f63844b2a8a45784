// SPDX-License-Identifier: MIT
#include "plan/visible_devices.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/device_words.hpp"
#include "plan/variable_words.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace gpucontainer::plan {
namespace {

using model::DriverStack;
using model::VisibleDevices;
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

/// As the vendor's programs count GPUs if no variable changes the order.
All as_programs_count(const DriverStack& driver, const std::vector<unsigned>& gpus)
{
    All all = whole(without_parents(driver, gpus));
    const auto& order = driver.library_order;
    std::ranges::stable_sort(all, {}, [&](const Counted& one) {
        return std::ranges::find(order, one.gpu) - order.begin();
    });
    return all;
}

/// As the readers of a variable count what earlier ones left.
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

/// How many the readers of a variable can count.
VariableWords::Numbers numbers_of(const DriverStack& driver, const VisibleDevices& variable,
                                  const Environment& environment,
                                  const std::vector<unsigned>& granted)
{
    std::vector<unsigned> all;
    for (const model::Gpu& gpu : driver.gpus)
        all.push_back(gpu.index);
    return {count(driver, variable, environment, whole(granted)).size(),
            count(driver, variable, environment, whole(all)).size()};
}

bool is_obeyed(const VisibleDevices& variable, std::string_view value)
{
    if (value.empty() && variable.empty_is_unset)
        return false;
    if (variable.reader == Reader::filter)
        return !value.empty() && value != "default";
    if (variable.reader == Reader::toolkit)
        return !value.empty() && base::to_lower(value) != "void" && !value.starts_with('/');
    return variable.reader != Reader::process;
}

/// The GPUs that a variable names in the container; none if it is not set there.
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

/// Whether programs would take another vendor's variable, `taken`, for theirs.
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

/// What programs count after a variable that named some of what they saw.
All seen_after(const DriverStack& driver, const VisibleDevices& variable, All named, All seen)
{
    if (variable.reader == Reader::toolkit)
        return seen;
    if (variable.reader == Reader::runtime && !driver.library_order.empty())
        return as_programs_count(driver, gpus_of(named));
    return named;
}

/// Why a list names an instance by what neither the kernel nor a map tells; none if it does not.
std::optional<Error> untold_in(const DriverStack& driver, std::string_view value)
{
    for (const std::string_view word : base::split(value, ','))
        if (auto found = find_gpus(driver, base::trim(word));
            !found && found.error().code() == Errc::requirement)
            return std::move(found).error();
    return std::nullopt;
}

/// Whether a list has as many words as there are GPUs to see, all of them instances without a known
/// UUID. A scheduler that grants some by a device cgroup names these.
bool must_be_all_of(const DriverStack& driver, std::string_view value, const All& seen)
{
    return base::split(value, ',').size() == seen.size()
           && std::ranges::all_of(seen, [&](const Counted& one) {
                  const model::Gpu& gpu = driver.gpus[one.gpu];
                  return gpu.is_instance() && gpu.uuid.empty();
              });
}

Error names_no_gpu(const VisibleDevices& variable, std::string_view value, std::string_view word)
{
    return Error(Errc::no_device, base::format("{}={}: '{}' is not the name of a GPU of this host",
                                               variable.name, value, word))
        .with_object(variable.name)
        .with_hint(name_gpus);
}

bool is_narrowed_by_cgroup(const DriverStack& driver, const std::vector<unsigned>& granted)
{
    return granted.size() < driver.gpus.size()
           && std::ranges::any_of(driver.nodes, [](const model::DeviceNode& node) {
                  return node.gpu >= 0 && node.required && node.cgroup_forbids;
              });
}

model::Finding counts_beyond(const VisibleDevices& variable, std::string_view value,
                             std::size_t granted)
{
    return {model::FindingCode::variable_contradicted, base::format("{}={}", variable.name, value),
            base::format("ignored: its numbers count from 0 what may be used, and the device "
                         "cgroup leaves {}",
                         granted == 1 ? "one GPU" : base::format("{} GPUs", granted))};
}

/// `names_some`: the last variable names GPUs, but none that the earlier ones left.
Error leaves_nothing(const std::vector<VisibleLayer>& layers, bool names_some)
{
    const auto text = [](const VisibleLayer& layer) {
        return base::format("{}={}", layer.variable.name, layer.value);
    };
    std::vector<std::string> before;
    for (auto layer = layers.begin(); names_some && layer + 1 != layers.end(); ++layer)
        if (layer->variable.decides)
            before.push_back(text(*layer));
    const std::string last = text(layers.back());
    return Error(Errc::no_device, before.empty()
                                      ? last + " grants no GPU that may be used"
                                      : base::format("{} grants none of the GPUs that {} {}", last,
                                                     base::joined(before, " and "),
                                                     before.size() == 1 ? "leaves" : "leave"))
        .with_object(layers.back().variable.name)
        .with_hint(name_gpus);
}

/// The value in the container for GPUs that are `named`, which later variables then count.
std::optional<std::string> value_inside(const DriverStack& driver, const Environment& environment,
                                        const VisibleDevices& variable,
                                        const std::optional<All>& named, All& seen)
{
    if (!named || (!variable.decides && named->empty()))
        return std::nullopt;
    const All counted = count(driver, variable, environment, seen);
    std::optional<std::string> value = VariableWords(driver, variable, counted).write(*named);
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

std::vector<unsigned> without_parents(const DriverStack& driver, std::vector<unsigned> gpus)
{
    std::set<int> parents;
    for (const unsigned gpu : gpus)
        parents.insert(driver.gpus[gpu].parent);
    std::erase_if(gpus, [&](unsigned gpu) { return parents.contains(static_cast<int>(gpu)); });
    return gpus;
}

std::vector<unsigned> with_parents(const DriverStack& driver, std::vector<unsigned> gpus)
{
    std::set<unsigned> all(gpus.begin(), gpus.end());
    for (const unsigned gpu : gpus)
        if (driver.gpus[gpu].is_instance())
            all.insert(static_cast<unsigned>(driver.gpus[gpu].parent));
    return {all.begin(), all.end()};
}

std::vector<unsigned> without_lone_parents(const DriverStack& driver, std::vector<unsigned> gpus)
{
    std::set<int> parents;
    for (const unsigned gpu : gpus)
        parents.insert(driver.gpus[gpu].parent);
    std::erase_if(gpus, [&](unsigned gpu) {
        return !driver.instances_of(gpu).empty() && !parents.contains(static_cast<int>(gpu));
    });
    return gpus;
}

Result<Narrowed> narrow(const DriverStack& driver, const Environment& environment,
                        const std::vector<unsigned>& granted,
                        const std::optional<VisibleLayer>& scheduler)
{
    Narrowed narrowed;
    auto& layers = narrowed.layers;
    const bool cgroup_decides = is_narrowed_by_cgroup(driver, granted);
    if (scheduler)
        layers.push_back(*scheduler);
    std::vector<unsigned> left_so_far = scheduler ? gpus_of(scheduler->left) : granted;
    All seen = as_programs_count(driver, granted);
    for (const VisibleDevices& variable : driver.visible_devices) {
        const auto set = environment.find(variable.name);
        if (set == environment.end() || !is_obeyed(variable, set->second))
            continue;
        const All counted = count(driver, variable, environment, seen);
        if (auto untold = untold_in(driver, set->second)) {
            if (!must_be_all_of(driver, set->second, counted))
                return std::move(*untold).context(
                    base::format("{}={}", variable.name, set->second));
            layers.push_back({variable, set->second, counted});
            continue;
        }
        const VariableWords words(driver, variable, counted);
        if (const auto unknown = words.unknown_word(set->second))
            return names_no_gpu(variable, set->second, *unknown);
        const std::string_view of_scheduler =
            scheduler ? std::string_view(scheduler->value) : std::string_view();
        if (cgroup_decides && variable.decides
            && words.counts_beyond(set->second, of_scheduler,
                                   numbers_of(driver, variable, environment, granted))) {
            narrowed.passed_over.push_back(counts_beyond(variable, set->second, granted.size()));
            continue;
        }
        All named = words.read(set->second, of_scheduler);
        All left = named;
        std::erase_if(left, [&](const Counted& one) { return !contains(left_so_far, one.gpu); });
        layers.push_back({variable, set->second, left});
        if (!variable.decides)
            continue;
        if (left.empty())
            return leaves_nothing(layers, !named.empty());
        left_so_far = gpus_of(left);
        seen = seen_after(driver, variable, std::move(named), std::move(seen));
    }
    return narrowed;
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
                variables.push_back({"set", variable.preferred,
                                     *VariableWords(driver, variable, seen).write(seen)});
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
