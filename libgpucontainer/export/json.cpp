// SPDX-License-Identifier: MIT
#include "export/json.hpp"

#include <nlohmann/json.hpp>

namespace gpucontainer::exports {
namespace {

using json = nlohmann::ordered_json;

template <typename Range, typename Function>
json array_of(const Range& range, Function to_json)
{
    json array = json::array();
    for (const auto& element : range)
        array.push_back(to_json(element));
    return array;
}

json number_or_null(int value) { return value < 0 ? json(nullptr) : json(value); }
json text_or_null(const std::string& value) { return value.empty() ? json(nullptr) : json(value); }

json to_json(const vendor::Gpu& gpu)
{
    return {{"index", gpu.index},
            {"uuid", text_or_null(gpu.uuid)},
            {"pci_address", gpu.pci_address},
            {"model", gpu.model},
            {"minor", number_or_null(gpu.minor)},
            {"numa_node", number_or_null(gpu.numa_node)}};
}

json to_json(const vendor::DriverFile& file)
{
    return {{"kind", vendor::name(file.kind)},
            {"name", file.name},
            {"soname", text_or_null(file.soname)},
            {"path", file.path},
            {"capability", vendor::name(file.capability)},
            {"links", file.links},
            {"reason", file.reason}};
}

json to_json(const vendor::DeviceNode& node)
{
    return {{"path", node.host_path},
            {"major", node.major},
            {"minor", node.minor},
            {"gpu", number_or_null(node.gpu)},
            {"accessible", node.accessible}};
}

json to_json(const vendor::Skipped& skipped)
{
    return {{"name", skipped.name}, {"source", skipped.source}, {"reason", skipped.reason}};
}

json to_json(const vendor::Warning& warning)
{
    return {{"capability", vendor::name(warning.capability)}, {"text", warning.text}};
}

json to_json(const vendor::DriverStack& driver)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return {{"vendor", driver.vendor},
            {"version", driver.version},
            {"version_source", vendor::name(driver.version_source)},
            {"root", driver.root},
            {"library_directory", driver.library_directory},
            {"gpus", array_of(driver.gpus, convert)},
            {"files", array_of(driver.files, convert)},
            {"nodes", array_of(driver.nodes, convert)},
            {"warnings", array_of(driver.warnings, convert)},
            {"skipped", array_of(driver.skipped, convert)}};
}

json to_json(const plan::Item& item)
{
    return {{"kind", plan::name(item.kind)},
            {"source", item.source},
            {"target", item.target},
            {"options", item.options},
            {"reason", item.reason}};
}

json to_json(const plan::DeviceRule& rule)
{
    return {{"type", "c"}, {"major", rule.major}, {"minor", rule.minor}, {"access", "rw"}};
}

json to_json(const plan::Variable& variable)
{
    return {{"action", variable.action}, {"name", variable.name}, {"value", variable.value}};
}

/// Names in an image need not be UTF-8; JSON must be.
std::string dump(const json& document)
{
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace

std::string host_to_json(std::span<const vendor::DriverStack> drivers,
                         std::span<const vendor::Skipped> skipped)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/list/1"},
                 {"drivers", array_of(drivers, convert)},
                 {"skipped", array_of(skipped, convert)}});
}

std::string plan_to_json(const plan::Plan& plan)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/plan/1"},
                 {"vendor", plan.vendor},
                 {"driver_version", plan.driver_version},
                 {"version_source", vendor::name(plan.version_source)},
                 {"backend", mount::name(plan.backend)},
                 {"layout", plan::name(plan.layout)},
                 {"tree_path", text_or_null(plan.tree_path)},
                 {"writes_root", plan.writes_root},
                 {"gpus", array_of(plan.gpus, convert)},
                 {"items", array_of(plan.items, convert)},
                 {"environment", array_of(plan.variables, convert)},
                 {"device_rules", array_of(plan.device_rules, convert)},
                 {"groups", plan.groups},
                 {"needs", plan.needs},
                 {"warnings", plan.warnings},
                 {"skipped", array_of(plan.skipped, convert)}});
}

} // namespace gpucontainer::exports
