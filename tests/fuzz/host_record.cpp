// SPDX-License-Identifier: MIT
#include "export/read_host.hpp"

#include "export/json.hpp"
#include "fuzz/fuzz.hpp"
#include "plan/builder.hpp"
#include "record/fields.hpp"

#include <algorithm>

namespace gpucontainer::fuzz {
namespace {

void check_item(const plan::Item& item, const model::DriverStack& driver)
{
    if (item.kind() == plan::ItemKind::env)
        return;
    demand(record::is_path(item.target) == nullptr, "a plan's targets are plain paths");
    if (item.kind() == plan::ItemKind::bind || item.kind() == plan::ItemKind::cover)
        demand(std::ranges::find(driver.files, item.source(), &model::DriverFile::path)
                   != driver.files.end(),
               "a plan's sources are files of the driver");
    if (item.kind() == plan::ItemKind::device)
        demand(std::ranges::find(driver.nodes, item.source(), &model::DeviceNode::host_path)
                   != driver.nodes.end(),
               "its nodes are nodes of the driver");
}

void check_plan(const model::DriverStack& driver, plan::Layout layout)
{
    plan::Request request;
    request.devices = "all";
    request.layout = layout;
    const auto plan = plan::create_plan({&driver, 1}, request, nullptr);
    if (!plan)
        return;
    for (const plan::Item& item : plan->items)
        check_item(item, driver);
    demand(plan->drivers.size() == 1 && plan->drivers.front().gpus.size() == driver.gpus.size(),
           "all GPUs are all");
    (void)exports::plan_to_json(*plan);
}

std::string to_json(const exports::HostRecord& record)
{
    return exports::host_to_json(record.drivers, record.findings, record.fingerprint);
}

} // namespace

/// A record of a host that somebody else wrote, and plans made from it.
void run(std::string_view input)
{
    const auto record = exports::host_from_json(input);
    if (!record)
        return;
    const std::string written = to_json(*record);
    const auto again = exports::host_from_json(written);
    demand(again.has_value(), "what was read can be written");
    demand(to_json(*again) == written, "and is the same then");
    const bool even = input.size() % 2 == 0; // a plan takes longer than all else
    for (const model::DriverStack& driver : record->drivers)
        check_plan(driver, even ? plan::Layout::tree : plan::Layout::merged);
}

} // namespace gpucontainer::fuzz
