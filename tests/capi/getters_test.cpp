// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <string>

namespace gpucontainer {
namespace {

using json = nlohmann::json;

/// Null for what does not apply.
json text(std::string_view value) { return value.empty() ? json() : json(value); }
json number(int value) { return value < 0 ? json() : json(value); }
json number(std::optional<unsigned> value) { return value ? json(*value) : json(); }

template <typename List, typename Convert>
json array(const List& list, const Convert& convert)
{
    json elements = json::array();
    for (const auto element : list)
        elements.push_back(convert(element));
    return elements;
}
template <typename List>
json array(const List& list)
{
    return array(list, [](const auto element) { return element; });
}

const char* name(Severity severity)
{
    switch (severity) {
    case Severity::note:
        return "note";
    case Severity::need:
        return "need";
    case Severity::warning:
        return "warning";
    case Severity::error:
        break;
    }
    return "error";
}

json of(const Gpu& gpu)
{
    return {{"index", gpu.index()},
            {"uuid", text(gpu.uuid())},
            {"pci_address", text(gpu.pci_address())},
            {"model", gpu.model()},
            {"minor", number(gpu.minor_number())},
            {"numa_node", number(gpu.numa_node())},
            {"architecture", text(gpu.architecture())},
            {"names", array(gpu.names())},
            {"parts", gpu.parts()},
            {"parent", number(gpu.parent())}};
}

json of(const File& file)
{
    const auto of_need = [](const VersionNeed& need) {
        return json{{"library", need.library()}, {"version", need.version()}};
    };
    const auto of_registration = [](const Registration& registration) {
        return json{{"manner", registration.manner()},
                    {"name", text(registration.name())},
                    {"content", text(registration.content())}};
    };
    const gpuctr_file_id id = file.identity();
    std::string identity = std::to_string(id.device);
    for (const std::uint64_t part : {id.inode, id.size, static_cast<std::uint64_t>(id.mtime_ns)})
        identity += ":" + std::to_string(part);
    return {{"kind", file.kind()},
            {"name", file.name()},
            {"soname", text(file.soname())},
            {"path", file.path()},
            {"capability", file.capability()},
            {"also", file.also()},
            {"links", array(file.links())},
            {"entry_names", array(file.entry_names())},
            {"registrations", array(file.registrations(), of_registration)},
            {"precedence", file.precedence()},
            {"directory", file.is_directory()},
            {"compat32", file.is_compat32()},
            {"needed", array(file.needed())},
            {"versions", array(file.version_needs(), of_need)},
            {"id", identity},
            {"reason", file.reason()}};
}

json of(const Node& node)
{
    return {{"path", node.container_path()},
            {"host_path", node.path()},
            {"major", node.major_number()},
            {"minor", node.minor_number()},
            {"mode", node.mode()},
            {"uid", node.uid()},
            {"gid", node.gid()},
            {"gpu", number(node.gpu())},
            {"capability", node.capability()},
            {"accessible", node.accessible()},
            {"cgroup_forbids", node.cgroup_forbids()},
            {"required", node.required()},
            {"links", array(node.links())},
            {"extra", text(node.extra())},
            {"makeable", node.is_makeable()},
            {"problem", text(node.problem())}};
}

json of(const SharedPath& shared)
{
    return {
        {"path", shared.path()},    {"kind", shared.kind()}, {"capability", shared.capability()},
        {"extra", shared.extra()},  {"uid", shared.uid()},   {"accessible", shared.accessible()},
        {"reason", shared.reason()}};
}

json of(const Mask& mask)
{
    const auto of_shown = [](const Shown& shown) {
        return json{{"name", shown.name()},
                    {"gpu", number(shown.gpu())},
                    {"directory", shown.is_directory()},
                    {"extra", text(shown.extra())}};
    };
    return {{"path", mask.path()},
            {"content", mask.content()},
            {"reason", mask.reason()},
            {"directory", mask.is_directory()},
            {"shown", array(mask.shown(), of_shown)},
            {"against_nodes", mask.is_against_nodes()}};
}

json of(const Finding& finding)
{
    return {{"code", finding.code()},
            {"severity", name(finding.severity())},
            {"object", text(finding.object())},
            {"text", finding.text()},
            {"evidence", text(finding.evidence())},
            {"hint", text(finding.hint())},
            {"capability", finding.capability()}};
}

json of(const Driver& driver);
json of(const UsedDriver& driver);
json of(const Item& item);
json of(const Variable& variable);
json of(const gpuctr_device_rule& rule);
constexpr auto convert = [](const auto& value) { return of(value); };

json of(const Driver& driver)
{
    return {{"vendor", driver.vendor()},
            {"vendor_name", driver.vendor_name()},
            {"cdi_kind", driver.cdi_kind()},
            {"version", text(driver.version())},
            {"version_source", driver.version_source()},
            {"root", driver.root()},
            {"library_directory", text(driver.library_directory())},
            {"machine", text(driver.machine())},
            {"optional_files", driver.has_optional_files()},
            {"needs", array(driver.needs())},
            {"image_directories", array(driver.image_directories())},
            {"tree_link", text(driver.tree_link())},
            {"gpus", array(driver.gpus(), convert)},
            {"files", array(driver.files(), convert)},
            {"nodes", array(driver.nodes(), convert)},
            {"missing_nodes", array(driver.missing_nodes(), convert)},
            {"shared_paths", array(driver.shared_paths(), convert)},
            {"masks", array(driver.masks(), convert)},
            {"findings", array(driver.findings(), convert)}};
}

json of(const UsedDriver& driver)
{
    json document = {{"vendor", driver.vendor()},
                     {"version", text(driver.version())},
                     {"gpus", array(driver.gpus(), convert)}};
    if (!driver.version_source().empty())
        document["version_source"] = driver.version_source();
    return document;
}

json of(const Item& item)
{
    return {{"kind", item.kind()},           {"source", item.source()},
            {"target", item.target()},       {"options", item.options()},
            {"vendor", text(item.vendor())}, {"gpu", number(item.gpu())},
            {"reason", item.reason()}};
}

json of(const Variable& variable)
{
    return {{"action", variable.action()}, {"name", variable.name()}, {"value", variable.value()}};
}

json of(const gpuctr_device_rule& rule)
{
    return {{"type", std::string(1, rule.type)},
            {"major", rule.major},
            {"minor", rule.minor},
            {"access", rule.access}};
}

/// A field of JSON that no getter has is named here, with the reason.
TEST(GettersTest, HaveAllOfTheHostThatJsonHas)
{
    const Host host;
    json document = json::parse(host.to_json());

    // is_current() compares it.
    EXPECT_EQ(document.erase("fingerprint"), 1U);
    for (json& driver : document["drivers"]) {
        // How a plan translates the vendor's variables; its variables are the outcome.
        EXPECT_EQ(driver.erase("visible_devices"), 1U);
        EXPECT_EQ(driver.erase("library_order"), 1U);
    }

    EXPECT_EQ(document, (json{{"schema", "gpucontainer/list/1"},
                              {"drivers", array(host.drivers(), convert)},
                              {"findings", array(host.findings(), convert)}}));
    EXPECT_FALSE(document["drivers"][0]["files"][0]["links"].empty());
    EXPECT_FALSE(document["drivers"][0]["masks"].empty());
}

TEST(GettersTest, HaveAllOfAPlanThatJsonHas)
{
    Request request;
    request.devices = "1,2";
    request.lock = true;
    request.mount_label = "system_u:object_r:container_file_t:s0";
    const Plan plan(Host(), request, -1);
    const json document = json::parse(plan.to_json());

    EXPECT_EQ(document, (json{{"schema", "gpucontainer/plan/1"},
                              {"drivers", array(plan.drivers(), convert)},
                              {"layout", plan.layout() == GPUCTR_LAYOUT_TREE ? "tree" : "merged"},
                              {"tree_path", text(plan.tree_path())},
                              {"writes_root", plan.writes_root()},
                              {"lock", plan.is_locked()},
                              {"mount_label", text(plan.mount_label())},
                              {"items", array(plan.items(), convert)},
                              {"environment", array(plan.variables(), convert)},
                              {"device_rules", array(plan.device_rules(), convert)},
                              {"groups", plan.groups()},
                              {"findings", array(plan.findings(), convert)}}));
    EXPECT_EQ(document["drivers"][0]["gpus"].size(), 2U);
    EXPECT_EQ(plan.layout(), GPUCTR_LAYOUT_TREE);
}

TEST(GettersTest, TellTheLayout)
{
    Request request;
    request.layout = GPUCTR_LAYOUT_MERGED;

    EXPECT_EQ(Plan(Host(), request, -1).layout(), GPUCTR_LAYOUT_MERGED);
}

TEST(GettersTest, ReturnNothingBehindTheEndOfAList)
{
    const Host host;
    const gpuctr_driver* const driver = gpuctr_host_driver_at(host.get(), 0);
    ASSERT_NE(driver, nullptr);
    const gpuctr_file* const file = gpuctr_driver_file_at(driver, 0);
    ASSERT_NE(file, nullptr);

    EXPECT_EQ(gpuctr_file_link_at(file, gpuctr_file_link_count(file)), nullptr);
    EXPECT_EQ(gpuctr_file_registration_at(file, gpuctr_file_registration_count(file)), nullptr);
    EXPECT_EQ(gpuctr_driver_mask_at(driver, gpuctr_driver_mask_count(driver)), nullptr);
    EXPECT_EQ(gpuctr_driver_missing_node_at(driver, 0), nullptr);
}

} // namespace
} // namespace gpucontainer
