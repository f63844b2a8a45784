// SPDX-License-Identifier: MIT
#include "plan/selection.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

using model::VisibleDevices;
using Reader = VisibleDevices::Reader;
using Inside = VisibleDevices::Inside;

void add(model::DriverStack& driver, const char* uuid, const char* address)
{
    model::Gpu gpu;
    gpu.index = static_cast<unsigned>(driver.gpus.size());
    gpu.uuid = uuid;
    gpu.pci_address = address;
    driver.gpus.push_back(std::move(gpu));
}

model::DriverStack host(VisibleDevices variable)
{
    model::DriverStack driver;
    driver.vendor = "nvidia";
    driver.vendor_name = "NVIDIA";
    driver.cdi_kind = "nvidia.com/gpu";
    driver.visible_devices = {std::move(variable)};
    add(driver, "GPU-aaaaaaaa-0000-0000-0000-000000000000", "0000:06:00.0");
    add(driver, "GPU-aaaaaaaa-0000-0000-0000-000000000001", "0000:07:00.0");
    add(driver, "", "0001:07:00.1");
    driver.gpus.back().names = {"0/1", "slot-5"};
    driver.gpus.front().parts = 2;
    for (const model::Gpu& gpu : driver.gpus) {
        model::DeviceNode node;
        node.gpu = static_cast<int>(gpu.index);
        node.accessible = gpu.index != 1;
        driver.nodes.push_back(node);
    }
    return driver;
}

/// Its files are all that there is of a driver.
model::DriverStack without_gpus()
{
    model::DriverStack driver = host({"POSITIONS", Reader::library, Inside::uuid});
    driver.gpus.clear();
    driver.nodes.clear();
    return driver;
}

/// The same where the device cgroup is what forbids a GPU.
model::DriverStack in_cgroup(model::DriverStack driver)
{
    for (model::DeviceNode& node : driver.nodes)
        node.cgroup_forbids = !node.accessible;
    return driver;
}

/// A task's, with one GPU.
model::DriverStack with_the_last_one(model::DriverStack driver)
{
    for (model::DeviceNode& node : driver.nodes)
        node.accessible = node.gpu == 2;
    return driver;
}

/// "2" or "2-3", of four digits at most.
std::optional<std::pair<int, int>> range_in(std::string_view word)
{
    const auto number = [](std::string_view digits) {
        return digits.size() <= 4 ? base::to_number(digits) : std::nullopt;
    };
    const auto dash = word.find('-');
    const auto first = number(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(word.substr(dash + 1));
    if (!first || !last || *first > *last)
        return std::nullopt;
    return std::pair(static_cast<int>(*first), static_cast<int>(*last));
}

/// What Slurm's variable says of a GPU, read once more; true where it is not set, or empty.
bool is_in_list(const plan::Environment& environment, unsigned gpu)
{
    const auto set = environment.find("SLURM_STEP_GPUS");
    if (set == environment.end() || base::trim(set->second).empty())
        return true;
    for (const std::string_view part : base::split(set->second, ',')) {
        const auto range = range_in(base::trim(part));
        if (range && range->first <= static_cast<int>(gpu)
            && static_cast<int>(gpu) <= range->second)
            return true;
    }
    return false;
}

/// The numbers of a list, and in `others` its words that are none.
std::vector<bool> read_numbers(std::string_view list, std::set<std::string_view>& others)
{
    std::vector<bool> numbers(10000);
    for (const std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        if (const auto range = range_in(word))
            std::fill(numbers.begin() + range->first, numbers.begin() + range->second + 1, true);
        else
            others.insert(word);
    }
    return numbers;
}

/// How many GPUs Slurm's variable speaks of, read once more; a word that is no number is one.
std::size_t count_in_list(const plan::Environment& environment)
{
    const auto set = environment.find("SLURM_STEP_GPUS");
    if (set == environment.end())
        return 0;
    std::set<std::string_view> others;
    const auto numbers = read_numbers(set->second, others);
    others.erase("");
    return static_cast<std::size_t>(std::ranges::count(numbers, true)) + others.size();
}

/// A list, and what the vendor's variable and Slurm's say.
struct Input {
    std::string_view list;
    std::optional<std::string_view> scheduler;
    std::optional<std::string_view> slurm;
};

plan::Environment environment_of(const model::DriverStack& driver, const Input& input)
{
    plan::Environment environment;
    if (input.scheduler)
        environment.emplace(driver.visible_devices.front().name, *input.scheduler);
    if (input.slurm)
        environment.emplace("SLURM_STEP_GPUS", *input.slurm);
    return environment;
}

/// Both variables have one list, with a number that is no position of a GPU that may be
/// used: the vendor's alone would grant nothing.
bool repeats_slurm(const model::DriverStack& driver, const Input& input)
{
    if (!input.scheduler || !input.slurm)
        return false;
    std::set<std::string_view> others;
    const auto numbers = read_numbers(*input.scheduler, others);
    const auto usable = std::ranges::count_if(driver.nodes, &model::DeviceNode::accessible);
    return numbers == read_numbers(*input.slurm, others) && others.empty()
           && std::find(numbers.begin() + usable, numbers.end(), true) != numbers.end();
}

/// What Slurm's variable takes away, it takes from what is chosen without it.
void check_slurm(const model::DriverStack& driver, const Input& input,
                 const plan::Selection& selection)
{
    const bool cgroup_decides = driver.nodes.size() > 1 && driver.nodes[1].cgroup_forbids;
    const auto environment = environment_of(driver, input);
    demand(cgroup_decides || selection.passed_over.empty(), "only a device cgroup knows better");
    // The vendor's variable that is ignored is a warning.
    const bool ignores_slurm =
        std::ranges::any_of(selection.passed_over, [](const model::Finding& finding) {
            return finding.severity() == model::Severity::note;
        });
    demand(!ignores_slurm || selection.gpus.size() <= count_in_list(environment),
           "and then no more GPUs are chosen than Slurm grants");
    for (const unsigned gpu : selection.gpus)
        demand(ignores_slurm || is_in_list(environment, gpu),
               "no GPU is chosen that Slurm does not grant");
    model::Findings left_out;
    const auto without = environment_of(driver, {input.list, input.scheduler, std::nullopt});
    const auto others = plan::select_devices({&driver, 1}, {input.list, without, {}}, left_out);
    demand(repeats_slurm(driver, input)
               || (others && std::ranges::includes(others->front().gpus, selection.gpus)),
           "and none that the vendor's variable does not");
}

void check(const model::DriverStack& driver, const Input& input)
{
    const std::string_view list = input.list;
    const std::string& variable = driver.visible_devices.front().name;
    const plan::Environment environment = environment_of(driver, input);
    model::Findings left_out;
    const auto selections = plan::select_devices({&driver, 1}, {list, environment, {}}, left_out);
    if (!selections)
        return;
    const plan::Selection& selection = selections->front();
    for (const plan::Variable& inside :
         plan::visible_inside(driver, environment, selection.layers, selection.gpus))
        demand(inside.name == variable, "no other variable changes");
    const auto& gpus = selection.gpus;
    demand(std::is_sorted(gpus.begin(), gpus.end())
               && std::adjacent_find(gpus.begin(), gpus.end()) == gpus.end(),
           "a GPU is chosen once");
    demand(std::all_of(gpus.begin(), gpus.end(),
                       [&](unsigned gpu) { return gpu < driver.gpus.size(); }),
           "and is one of the host's");
    const bool automatic = base::to_lower(base::trim(list)) == "auto";
    demand(selection.explicitly != automatic, "what is not automatic was asked for");
    demand(!automatic || std::find(gpus.begin(), gpus.end(), 1U) == gpus.end(),
           "one that may not be used is not taken by itself");
    demand(!automatic || !gpus.empty() || driver.gpus.empty(), "nothing granted is an error");
    if (automatic && !driver.gpus.empty())
        check_slurm(driver, input, selection);
}

} // namespace

/// A user's list of GPUs, in a second line what the scheduler says to the vendor's
/// programs, and in a third what it says itself.
void run(std::string_view input)
{
    static const std::array drivers = {
        host({"POSITIONS", Reader::library, Inside::uuid}),
        host({"SLOTS", Reader::runtime, Inside::name, "slot-", true}),
        host({"MASK", Reader::filter, Inside::position, "", false, "WHOLE=1"}),
        host({"WHOLE", Reader::filter, Inside::position, "", false, "WHOLE=1.0"}),
        host({"TOOLKIT", Reader::toolkit, Inside::nothing}),
        in_cgroup(host({"POSITIONS", Reader::library, Inside::uuid})),
        in_cgroup(with_the_last_one(host({"POSITIONS", Reader::library, Inside::uuid}))),
        without_gpus()};
    const auto lines = base::split(input, '\n');
    const std::string_view list = lines.front();
    const auto line = [&](std::size_t number) {
        return number < lines.size() ? std::optional(lines[number]) : std::nullopt;
    };
    for (const model::DriverStack& driver : drivers) {
        check(driver, {list, line(1), line(2)});
        check(driver, {"auto", list, line(1)});
        check(driver, {"auto", std::nullopt, list});
    }
    const auto capabilities = plan::parse_capabilities(list);
    demand(!capabilities || (!capabilities->empty() && capabilities->size() <= 7),
           "capabilities are those that are known");
}

} // namespace gpucontainer::fuzz
