// SPDX-License-Identifier: MIT
#include "plan/requirements.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "requirement/evaluation.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace gpucontainer::plan {
namespace {

using drivers::Vendor;
using model::DriverStack;
using model::Gpu;
using requirement::Subject;

/// The chosen GPUs of a driver, or the driver alone, and the GPUs that could be chosen instead.
struct Subjects {
    std::vector<Subject> chosen;
    std::vector<Subject> others;
};

bool can_be_used(const DriverStack& driver, const Gpu& gpu)
{
    const auto is_obstacle = [&](const model::DeviceNode& node) {
        return node.required && !node.accessible
               && (node.gpu < 0 || node.gpu == static_cast<int>(gpu.index));
    };
    return std::ranges::none_of(driver.nodes, is_obstacle);
}

Subjects subjects_of(const Vendor& vendor, const DriverStack& driver, const UsedDriver& used,
                     bool may_choose_others)
{
    Subjects subjects;
    for (const Gpu& gpu : used.gpus)
        subjects.chosen.push_back(vendor.facts(driver, &gpu));
    if (used.gpus.empty())
        subjects.chosen.push_back(vendor.facts(driver, nullptr));
    for (const Gpu& gpu : driver.gpus)
        if (may_choose_others && can_be_used(driver, gpu)
            && std::ranges::find(used.gpus, gpu.index, &Gpu::index) == used.gpus.end())
            subjects.others.push_back(vendor.facts(driver, &gpu));
    return subjects;
}

Error nothing_to_check(const requirement::Expression& expression)
{
    std::vector<std::string_view> titles;
    for (const Vendor& vendor : drivers::vendors())
        if (vendor.facts != nullptr)
            titles.push_back(vendor.title);
    const std::string clause = expression.alternatives.front().front().text();
    const std::string whose = base::joined(titles, " or ");
    return Error(Errc::requirement,
                 base::format("requirement {}: not met: no driver of {} is chosen", clause, whose))
        .with_object(clause)
        .with_hint(base::format("it needs a driver of {}", whose));
}

} // namespace

Result<requirement::Expression> parse_requirement(std::string_view text)
{
    std::vector<requirement::Name> known;
    for (const Vendor& vendor : drivers::vendors())
        known.insert(known.end(), vendor.fact_names.begin(), vendor.fact_names.end());
    return requirement::parse(text, known);
}

Result<void> check_requirement(const requirement::Expression& expression, const Chosen& chosen)
{
    if (expression.alternatives.empty())
        return {};
    bool is_checked = false;
    for (const UsedDriver& used : chosen.used) {
        const Vendor* const vendor = drivers::find_vendor(used.vendor);
        const auto driver = std::ranges::find(chosen.drivers, used.vendor, &DriverStack::vendor);
        if (vendor == nullptr || vendor->facts == nullptr || driver == chosen.drivers.end())
            continue;
        const Subjects subjects = subjects_of(*vendor, *driver, used, chosen.may_choose_others);
        GPUCTR_CHECK(requirement::check(expression, subjects.chosen, subjects.others));
        is_checked = true;
    }
    if (!is_checked)
        return nothing_to_check(expression);
    return {};
}

} // namespace gpucontainer::plan
