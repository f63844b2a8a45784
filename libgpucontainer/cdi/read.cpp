// SPDX-License-Identifier: MIT
#include "cdi/read.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cdi/names.hpp"
#include "cdi/version.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace gpucontainer::cdi {
namespace {

constexpr std::int64_t largest_u32 = UINT32_MAX;

std::optional<std::uint32_t> u32(std::optional<std::int64_t> number)
{
    return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

Place place_of(const Fields& fields) { return {"", fields.line(), fields.where()}; }

void check_variables(const Fields& fields, const std::vector<std::string>& variables)
{
    for (const std::string& variable : variables)
        if (const std::string fault = fault_in_variable(variable); !fault.empty())
            fields.complain(base::format("env {}: {}", shown(variable), fault));
}

DeviceNode read_node(Fields& fields)
{
    DeviceNode node = {fields.needed_text("path")};
    node.place = place_of(fields);
    node.host_path = fields.text("hostPath");
    node.type = fields.text("type");
    if (constexpr std::array<std::string_view, 5> types = {"", "b", "c", "u", "p"};
        std::ranges::find(types, node.type) == types.end())
        fields.complain(base::format("type {} is none of b, c, u and p", shown(node.type)));
    node.major = fields.number("major", INT64_MIN, INT64_MAX);
    node.minor = fields.number("minor", INT64_MIN, INT64_MAX);
    node.file_mode = u32(fields.number("fileMode", 0, largest_u32));
    node.permissions = fields.text("permissions");
    if (node.permissions != "none"
        && node.permissions.find_first_not_of("rwm") != std::string::npos)
        fields.complain(
            base::format("permissions {} are not of r, w and m", shown(node.permissions)));
    node.uid = u32(fields.number("uid", 0, largest_u32));
    node.gid = u32(fields.number("gid", 0, largest_u32));
    return node;
}

Mount read_mount(Fields& fields)
{
    Mount mount = {fields.needed_text("hostPath"), fields.needed_text("containerPath")};
    mount.options = fields.texts("options");
    mount.type = fields.text("type");
    mount.place = place_of(fields);
    return mount;
}

Hook read_hook(Fields& fields)
{
    constexpr std::array<std::string_view, 6> stages = {
        "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};
    Hook hook = {fields.needed_text("hookName"), fields.needed_text("path")};
    if (!hook.name.empty() && std::ranges::find(stages, hook.name) == stages.end())
        fields.complain(base::format("hookName {} is none of {}", shown(hook.name),
                                     base::joined(stages, ", ")));
    hook.args = fields.texts("args");
    hook.env = fields.texts("env");
    check_variables(fields, hook.env);
    hook.timeout = fields.number("timeout", INT64_MIN, INT64_MAX);
    hook.place = place_of(fields);
    return hook;
}

NetDevice read_net_device(Fields& fields)
{
    return {fields.needed_text("hostInterfaceName"), fields.needed_text("name")};
}

void check_net_devices(const Fields& fields, const std::vector<NetDevice>& devices)
{
    std::set<std::string_view> outside;
    std::set<std::string_view> inside;
    for (const NetDevice& device : devices) {
        if (!outside.insert(device.host_name).second)
            fields.complain(
                base::format("network device {} more than once", shown(device.host_name)));
        if (!inside.insert(device.name).second)
            fields.complain(base::format("network name {} more than once", shown(device.name)));
    }
}

Rdt read_rdt(Fields& fields)
{
    constexpr std::size_t longest = 4095;
    Rdt rdt;
    rdt.clos_id = fields.text("closID");
    const std::string& id = rdt.clos_id;
    if (id.size() > longest || id == "." || id == ".."
        || (id != "/" && id.find_first_of("/\n") != std::string::npos))
        fields.complain(base::format("closID {} is no name of a group", shown(id)));
    rdt.l3_cache_schema = fields.text("l3CacheSchema");
    rdt.memory_bandwidth_schema = fields.text("memBwSchema");
    rdt.schemata = fields.texts("schemata");
    rdt.enable_monitoring = fields.flag("enableMonitoring");
    return rdt;
}

Edits read_edits(Fields& fields)
{
    Edits edits;
    edits.place = place_of(fields);
    edits.env = fields.texts("env");
    check_variables(fields, edits.env);
    fields.list("deviceNodes", [&](Fields& one) { edits.nodes.push_back(read_node(one)); });
    fields.list("netDevices",
                [&](Fields& one) { edits.net_devices.push_back(read_net_device(one)); });
    check_net_devices(fields, edits.net_devices);
    fields.list("mounts", [&](Fields& one) { edits.mounts.push_back(read_mount(one)); });
    fields.list("hooks", [&](Fields& one) { edits.hooks.push_back(read_hook(one)); });
    fields.map("intelRdt", [&](Fields& one) { edits.rdt = read_rdt(one); });
    for (const std::int64_t gid : fields.numbers("additionalGids", 0, largest_u32))
        edits.additional_gids.push_back(static_cast<std::uint32_t>(gid));
    return edits;
}

Device read_device(Fields& fields)
{
    Device device = {fields.needed_text("name")};
    if (const std::string fault = fault_in_device_name(device.name);
        !device.name.empty() && !fault.empty())
        fields.complain(base::format("device {}: {}", shown(device.name), fault));
    device.annotations = fields.map_of_texts("annotations");
    fields.map("containerEdits", [&](Fields& one) { device.edits = read_edits(one); });
    if (device.edits.is_empty())
        fields.complain(base::format("device {} gives a container nothing: it has no edits",
                                     shown(device.name)));
    return device;
}

void check_version(const Fields& fields, const Specification& specification)
{
    if (specification.version.empty())
        return; // it is missing
    const std::string_view version = known_version(specification.version);
    const Need need = lowest_version(specification);
    if (version.empty())
        fields.complain(base::format("unknown cdiVersion {}", shown(specification.version)));
    else if (is_older(version, need.version))
        fields.complain(base::format("cdiVersion {} is too old: {} needs {}", version, need.what,
                                     need.version));
}

void read_specification(Fields& fields, Specification& specification)
{
    specification.version = fields.needed_text("cdiVersion");
    specification.kind = fields.needed_text("kind");
    if (const std::string fault = fault_in_kind(specification.kind);
        !specification.kind.empty() && !fault.empty())
        fields.complain(base::format("kind {}: {}", shown(specification.kind), fault));
    specification.annotations = fields.map_of_texts("annotations");
    fields.map("containerEdits", [&](Fields& one) { specification.edits = read_edits(one); });
    std::set<std::string> names;
    fields.list("devices", [&](Fields& one) {
        Device device = read_device(one);
        if (!names.insert(device.name).second)
            one.complain(base::format("device {} more than once", shown(device.name)));
        specification.devices.push_back(std::move(device));
    });
    if (specification.devices.empty())
        fields.complain("it has no device");
    check_version(fields, specification);
}

} // namespace

Document read_document(std::string_view text, Form form)
{
    Document document;
    const auto value = form == Form::json ? parse_json_value(text) : parse_yaml_value(text);
    if (!value) {
        std::string fault = value.error().message(); // which may quote the document
        std::ranges::replace_if(fault, base::is_control, '?');
        document.faults.push_back({0, "", std::move(fault)});
        return document;
    }
    Faults faults;
    {
        Fields fields(*value, "", faults);
        read_specification(fields, document.specification);
    }
    document.faults = faults.take();
    std::ranges::stable_sort(document.faults, {}, &Fault::line);
    return document;
}

} // namespace gpucontainer::cdi
