// SPDX-License-Identifier: MIT
#include "plan/selection.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpucontainer::fuzz {
namespace {

using vendor::VisibleDevices;
using Reader = VisibleDevices::Reader;
using Inside = VisibleDevices::Inside;

void add(vendor::DriverStack& driver, const char* uuid, const char* address)
{
    vendor::Gpu gpu;
    gpu.index = static_cast<unsigned>(driver.gpus.size());
    gpu.uuid = uuid;
    gpu.pci_address = address;
    driver.gpus.push_back(std::move(gpu));
}

vendor::DriverStack host(VisibleDevices variable)
{
    vendor::DriverStack driver;
    driver.vendor = "nvidia";
    driver.vendor_name = "NVIDIA";
    driver.visible_devices = {std::move(variable)};
    add(driver, "GPU-aaaaaaaa-0000-0000-0000-000000000000", "0000:06:00.0");
    add(driver, "GPU-aaaaaaaa-0000-0000-0000-000000000001", "0000:07:00.0");
    add(driver, "", "0001:07:00.1");
    driver.gpus.back().names = {"0/1", "slot-5"};
    driver.gpus.front().parts = 2;
    for (const vendor::Gpu& gpu : driver.gpus) {
        vendor::DeviceNode node;
        node.gpu = static_cast<int>(gpu.index);
        node.accessible = gpu.index != 1;
        driver.nodes.push_back(node);
    }
    return driver;
}

void check(const vendor::DriverStack& driver, std::string_view list,
           std::optional<std::string_view> scheduler)
{
    const std::string& variable = driver.visible_devices.front().name;
    plan::Environment environment;
    if (scheduler)
        environment.emplace(variable, *scheduler);
    std::vector<vendor::Skipped> left_out;
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
    demand(!automatic || !gpus.empty(), "nothing granted is an error");
}

} // namespace

/// A user's list of GPUs, and in a second line what the scheduler says.
void run(std::string_view input)
{
    static const std::array drivers = {
        host({"POSITIONS", Reader::library, Inside::uuid}),
        host({"SLOTS", Reader::runtime, Inside::name, "slot-", true}),
        host({"MASK", Reader::filter, Inside::position, "", false, "WHOLE=1"}),
        host({"WHOLE", Reader::filter, Inside::position, "", false, "WHOLE=1.0"})};
    const auto newline = input.find('\n');
    const std::string_view list = input.substr(0, newline);
    std::optional<std::string_view> scheduler;
    if (newline != std::string_view::npos)
        scheduler = input.substr(newline + 1);
    for (const vendor::DriverStack& driver : drivers) {
        check(driver, list, scheduler);
        check(driver, "auto", list);
    }
    const auto capabilities = plan::parse_capabilities(list);
    demand(!capabilities || (!capabilities->empty() && capabilities->size() <= 3),
           "capabilities are those that are known");
}

} // namespace gpucontainer::fuzz
