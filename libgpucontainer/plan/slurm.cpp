// SPDX-License-Identifier: MIT
#include "plan/slurm.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DeviceNode;
using model::DriverStack;

/// The more specific one first: a step gets a part of its job's GPUs.
constexpr std::array<const char*, 2> variables = {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"};

/// Slurm leaves a variable unset for a job without GPUs. An empty one was set by a script.
bool is_set(const Environment& environment, const char* name)
{
    const auto variable = environment.find(name);
    return variable != environment.end() && !base::trim(variable->second).empty();
}

bool is_forbidden_gpu(const DeviceNode& node)
{
    return node.gpu >= 0 && node.required && node.cgroup_forbids;
}

/// The node by which the device cgroup forbids this process a GPU; null if it does not.
const DeviceNode* forbidden_node(const DriverStack& driver, unsigned gpu)
{
    const auto node = std::ranges::find_if(driver.nodes, [&](const DeviceNode& one) {
        return is_forbidden_gpu(one) && one.gpu == static_cast<int>(gpu);
    });
    return node == driver.nodes.end() ? nullptr : &*node;
}

/// The number of GPUs in a list, even if it is unclear which they are.
std::size_t count(const NumberList& list)
{
    std::size_t number = list.others.size() - list.others.count("");
    for (const IndexRange& range : list.ranges)
        number += range.last - range.first + 1;
    return number;
}

/// Why a list does not tell which GPUs it grants; none if it does.
std::optional<Error> fault_of(const NumberList& listed, const DriverStack& driver,
                              const SlurmTrust& trust)
{
    if (!trust.counts_one_vendor)
        return Error(Errc::usage, "it counts the GPUs of several vendors, and does not say whose");
    if (!listed.others.empty())
        return Error(Errc::usage, "not a list of numbers");
    const std::size_t gpus = driver.whole_gpus();
    if (gpus < driver.gpus.size())
        return Error(Errc::usage, "it does not tell MIG instances");
    const auto beyond = std::ranges::find_if(
        listed.ranges, [&](const IndexRange& range) { return range.last >= gpus; });
    if (beyond == listed.ranges.end())
        return std::nullopt;
    return Error(Errc::no_device,
                 base::format("there is no {} GPU {} on this host", driver.vendor_name,
                              std::max<std::size_t>(beyond->first, gpus)));
}

/// Slurm's device cgroup allows as many GPUs as the list has, or fewer if they are for one task.
bool can_be_slurms_cgroup(const SlurmTrust& trust, const NumberList& listed)
{
    return trust.cgroup_forbids && trust.usable <= count(listed);
}

std::vector<unsigned> numbers_of(const NumberList& list)
{
    std::vector<unsigned> numbers;
    for (const IndexRange& range : list.ranges)
        for (unsigned number = range.first; number <= range.last; ++number)
            numbers.push_back(number);
    return numbers;
}

SlurmGrant pass_over(std::string setting, std::string node, const std::string& why)
{
    return {std::nullopt, model::Finding{model::FindingCode::variable_ignored, std::move(setting),
                                         "the device cgroup decides: " + why, std::move(node)}};
}

} // namespace

SlurmTrust slurm_trust(std::span<const DriverStack> drivers, std::size_t usable)
{
    const auto has_gpus = [](const DriverStack& driver) { return !driver.gpus.empty(); };
    const auto is_restricted = [](const DriverStack& driver) {
        return std::ranges::any_of(driver.nodes, is_forbidden_gpu);
    };
    return {std::ranges::count_if(drivers, has_gpus) < 2,
            std::ranges::any_of(drivers, is_restricted), usable};
}

Result<SlurmGrant> read_slurm(const DriverStack& driver, const Environment& environment,
                              const std::vector<unsigned>& usable, const SlurmTrust& trust)
{
    const auto variable = std::ranges::find_if(
        variables, [&](const char* name) { return is_set(environment, name); });
    if (variable == variables.end())
        return SlurmGrant();
    const std::string& value = environment.at(*variable);
    const std::string setting = base::format("{}={}", *variable, value);

    const auto refused = [&](Errc code, std::string message) {
        return Error(code, std::move(message)).with_object(*variable).with_hint(name_gpus);
    };

    const NumberList listed = read_numbers(value);
    const bool cgroup_decides = can_be_slurms_cgroup(trust, listed);
    if (const auto fault = fault_of(listed, driver, trust)) {
        if (cgroup_decides)
            return pass_over(setting, "", fault->message());
        return refused(fault->code(), base::format("{}: {}", setting, fault->message()));
    }

    std::vector<Counted> left;
    for (const unsigned gpu : numbers_of(listed)) {
        const DeviceNode* const forbidden = forbidden_node(driver, gpu);
        if (forbidden != nullptr && cgroup_decides)
            return pass_over(setting, forbidden->host_path, base::format("it forbids GPU {}", gpu));
        if (forbidden != nullptr)
            return refused(Errc::no_device,
                           base::format("{}: the device cgroup forbids GPU {} and leaves {} GPUs, "
                                        "more than the list has",
                                        setting, gpu, trust.usable));
        if (std::ranges::find(usable, gpu) != usable.end())
            left.push_back({gpu, std::nullopt});
    }
    if (left.empty())
        return refused(Errc::no_device, setting + " grants no GPU that may be used");
    model::VisibleDevices of_slurm;
    of_slurm.name = *variable;
    return SlurmGrant{VisibleLayer{of_slurm, value, std::move(left)}, std::nullopt};
}

} // namespace gpucontainer::plan
