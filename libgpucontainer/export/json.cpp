// SPDX-License-Identifier: MIT
#include "export/json.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <chrono>
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

// The parts of a host are taken apart by position: a field that is added does
// not compile before it is written here, and so is not lost for read_host.cpp.

json to_json(const model::Gpu& gpu)
{
    const auto& [index, uuid, pci_address, model, minor, numa_node, architecture, names, parts] =
        gpu;
    return {{"index", index},
            {"uuid", text_or_null(uuid)},
            {"pci_address", text_or_null(pci_address)},
            {"model", model},
            {"minor", number_or_null(minor)},
            {"numa_node", number_or_null(numa_node)},
            {"architecture", text_or_null(architecture)},
            {"names", names},
            {"parts", parts}};
}

/// As text: readers that keep numbers as doubles would round it.
std::string to_text(const model::FileId& id)
{
    return base::format("{}:{}:{}:{}", id.device, id.inode, id.size,
                        static_cast<std::uint64_t>(id.mtime_ns));
}

json to_json(const model::VersionNeed& need)
{
    const auto& [library, version] = need;
    return {{"library", library}, {"version", version}};
}

json to_json(const model::DriverFile& file)
{
    const auto& [kind, capability, also, name, soname, path, links, entry_names, reason, id, icd,
                 module, interpreter, target, directory, needed, versions, neutral, own,
                 beside_own] = file;
    return {{"kind", model::name(kind)},
            {"name", name},
            {"soname", text_or_null(soname)},
            {"path", path},
            {"capability", model::name(capability)},
            {"also", model::name(also)},
            {"links", links},
            {"entry_names", entry_names},
            {"icd", text_or_null(icd)},
            {"module", text_or_null(module)},
            {"interpreter", text_or_null(interpreter)},
            {"target", text_or_null(target)},
            {"directory", directory},
            {"needed", needed},
            {"versions", array_of(versions, [](const auto& need) { return to_json(need); })},
            {"neutral", neutral},
            {"own", own},
            {"beside_own", beside_own},
            {"id", to_text(id)},
            {"reason", reason}};
}

json to_json(const model::DeviceNode& node)
{
    const auto& [path, host_path, major, minor, mode, gid, gpu, capability, accessible,
                 cgroup_forbids, required, links] = node;
    return {{"path", path},
            {"host_path", host_path},
            {"major", major},
            {"minor", minor},
            {"mode", mode},
            {"gid", gid},
            {"gpu", number_or_null(gpu)},
            {"capability", model::name(capability)},
            {"accessible", accessible},
            {"cgroup_forbids", cgroup_forbids},
            {"required", required},
            {"links", links}};
}

json to_json(const model::Mask& mask)
{
    const auto& [path, content, reason, directory] = mask;
    return {{"path", path}, {"content", content}, {"reason", reason}, {"directory", directory}};
}

json to_json(const model::Skipped& skipped)
{
    const auto& [name, source, reason] = skipped;
    return {{"name", name}, {"source", source}, {"reason", reason}};
}

json to_json(const model::Warning& warning)
{
    return {{"capability", model::name(warning.capability)}, {"text", warning.text}};
}

json to_json(const model::VisibleDevices& variable)
{
    const auto& [name, reader, inside, prefix, always, whole_if, pci_order_if, empty_is_unset,
                 decides, preferred] = variable;
    return {{"name", name},
            {"reader", model::name(reader)},
            {"inside", model::name(inside)},
            {"prefix", text_or_null(prefix)},
            {"always", always},
            {"whole_if", text_or_null(whole_if)},
            {"pci_order_if", text_or_null(pci_order_if)},
            {"empty_is_unset", empty_is_unset},
            {"decides", decides},
            {"preferred", text_or_null(preferred)}};
}

json to_json(const model::DriverStack& driver)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    const auto& [vendor, vendor_name, version, version_source, root, library_directory,
                 optional_files, visible_devices, needs, image_directories, tree_link, gpus,
                 library_order, files, nodes, missing_nodes, warnings, masks, skipped] = driver;
    return {{"vendor", vendor},
            {"vendor_name", vendor_name},
            {"version", text_or_null(version)},
            {"version_source", model::name(version_source)},
            {"root", root},
            {"library_directory", text_or_null(library_directory)},
            {"optional_files", optional_files},
            {"visible_devices", array_of(visible_devices, convert)},
            {"needs", needs},
            {"image_directories", image_directories},
            {"tree_link", text_or_null(tree_link)},
            {"gpus", array_of(gpus, convert)},
            {"library_order", library_order},
            {"files", array_of(files, convert)},
            {"nodes", array_of(nodes, convert)},
            {"missing_nodes", array_of(missing_nodes, convert)},
            {"warnings", array_of(warnings, convert)},
            {"masks", array_of(masks, convert)},
            {"skipped", array_of(skipped, convert)}};
}

json to_json(const detect::Mark& mark) { return {{"path", mark.path}, {"state", mark.state}}; }

json to_json(const plan::Item& item)
{
    return {{"kind", plan::name(item.kind())},
            {"source", item.source()},
            {"target", item.target},
            {"options", item.options()},
            {"vendor", text_or_null(item.owner.vendor)},
            {"gpu", number_or_null(item.owner.gpu)},
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

/// Of a set-up: how its driver's version was known then is not kept.
json used_to_json(const plan::UsedDriver& driver)
{
    const auto convert = [](const model::Gpu& gpu) { return to_json(gpu); };
    return {{"vendor", driver.vendor},
            {"version", text_or_null(driver.version)},
            {"gpus", array_of(driver.gpus, convert)}};
}

json planned_to_json(const plan::UsedDriver& driver)
{
    json document = used_to_json(driver);
    document["version_source"] = model::name(driver.version_source);
    return document;
}

json to_json(const apply::Problem& problem)
{
    return {{"kind", apply::name(problem.kind)},
            {"severity", apply::is_error(problem.kind) ? "error" : "warning"},
            {"object", text_or_null(problem.object)},
            {"text", problem.text}};
}

/// UTC as RFC 3339 has it; null for a time that is not known. Not by gmtime_r(), which
/// reads the time zone of the environment, and its file.
json time_to_json(std::int64_t seconds)
{
    constexpr std::int64_t end_of_year_9999 = 253402300799;
    if (seconds <= 0 || seconds > end_of_year_9999)
        return nullptr;
    const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    return base::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                        clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

json to_json(const apply::SetUp& set_up)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return {{"root", base::is_utf8(set_up.root_path) ? text_or_null(set_up.root_path) : nullptr},
            {"drivers", array_of(set_up.drivers, used_to_json)},
            {"tree_path", text_or_null(set_up.tree_path)},
            {"writes_root", set_up.writes_root},
            {"since", time_to_json(set_up.since)},
            {"mount_namespace", set_up.key.from.mount_namespace},
            {"origin", apply::name(set_up.origin)},
            {"process", set_up.process > 0 ? json(set_up.process) : json()},
            {"problems", array_of(set_up.problems, convert)}};
}

/// Names in an image need not be UTF-8; JSON must be.
std::string dump(const json& document)
{
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace

std::string host_to_json(std::span<const model::DriverStack> drivers,
                         std::span<const model::Skipped> skipped,
                         std::span<const detect::Mark> fingerprint)
{
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/list/1"},
                 {"drivers", array_of(drivers, convert)},
                 {"skipped", array_of(skipped, convert)},
                 {"fingerprint", array_of(fingerprint, convert)}});
}

std::string plan_to_json(const plan::Planned& planned)
{
    const plan::Plan& plan = planned.plan;
    const auto convert = [](const auto& value) { return to_json(value); };
    return dump({{"schema", "gpucontainer/plan/1"},
                 {"drivers", array_of(plan.drivers, planned_to_json)},
                 {"backend", mount::name(planned.backend)},
                 {"layout", plan::name(plan.layout)},
                 {"tree_path", text_or_null(plan.tree_path)},
                 {"writes_root", plan.writes_root},
                 {"lock", plan.lock},
                 {"mount_label", text_or_null(plan.mount_label)},
                 {"items", array_of(plan.items, convert)},
                 {"environment", array_of(plan.variables, convert)},
                 {"device_rules", array_of(plan::device_rules(plan), convert)},
                 {"groups", plan.groups},
                 {"needs", plan.needs},
                 {"warnings", plan.warnings},
                 {"skipped", array_of(plan.skipped, convert)}});
}

std::string set_ups_to_json(std::span<const apply::SetUp> set_ups)
{
    return dump(
        {{"schema", "gpucontainer/status/1"},
         {"setups", array_of(set_ups, [](const auto& set_up) { return to_json(set_up); })}});
}

} // namespace gpucontainer::exports
