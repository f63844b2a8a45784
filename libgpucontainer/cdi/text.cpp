// SPDX-License-Identifier: MIT
#include "cdi/text.hpp"

#include "base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::cdi {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Sets a member, unless its value says nothing.
void add(OrderedJson& object, const char* name, const std::string& text)
{
    if (!text.empty())
        object[name] = text;
}
template <typename Number>
void add(OrderedJson& object, const char* name, const std::optional<Number>& number)
{
    if (number)
        object[name] = *number;
}
template <typename Element>
void add(OrderedJson& object, const char* name, const std::vector<Element>& list)
{
    if (!list.empty())
        object[name] = list;
}
template <typename Element, typename Convert>
void add(OrderedJson& object, const char* name, const std::vector<Element>& list, Convert convert)
{
    if (list.empty())
        return;
    OrderedJson& array = object[name] = OrderedJson::array();
    for (const Element& element : list)
        array.push_back(convert(element));
}

OrderedJson node(const DeviceNode& node)
{
    OrderedJson object = {{"path", node.path}};
    add(object, "hostPath", node.host_path);
    add(object, "type", node.type);
    add(object, "major", node.major);
    add(object, "minor", node.minor);
    add(object, "fileMode", node.file_mode);
    add(object, "permissions", node.permissions);
    add(object, "uid", node.uid);
    add(object, "gid", node.gid);
    return object;
}

OrderedJson net_device(const NetDevice& device)
{
    return {{"hostInterfaceName", device.host_name}, {"name", device.name}};
}

OrderedJson mount(const Mount& mount)
{
    OrderedJson object = {{"hostPath", mount.host_path}, {"containerPath", mount.container_path}};
    add(object, "options", mount.options);
    add(object, "type", mount.type);
    return object;
}

OrderedJson hook(const Hook& hook)
{
    OrderedJson object = {{"hookName", hook.name}, {"path", hook.path}};
    add(object, "args", hook.args);
    add(object, "env", hook.env);
    add(object, "timeout", hook.timeout);
    return object;
}

OrderedJson rdt(const Rdt& rdt)
{
    OrderedJson object = OrderedJson::object();
    add(object, "closID", rdt.clos_id);
    add(object, "l3CacheSchema", rdt.l3_cache_schema);
    add(object, "memBwSchema", rdt.memory_bandwidth_schema);
    add(object, "schemata", rdt.schemata);
    if (rdt.enable_monitoring)
        object["enableMonitoring"] = true;
    return object;
}

OrderedJson edits(const Edits& edits)
{
    OrderedJson object = OrderedJson::object();
    add(object, "env", edits.env);
    add(object, "deviceNodes", edits.nodes, node);
    add(object, "netDevices", edits.net_devices, net_device);
    add(object, "mounts", edits.mounts, mount);
    add(object, "hooks", edits.hooks, hook);
    if (edits.rdt)
        object["intelRdt"] = rdt(*edits.rdt);
    add(object, "additionalGids", edits.additional_gids);
    return object;
}

OrderedJson device(const Device& device)
{
    OrderedJson object = {{"name", device.name}};
    if (!device.annotations.empty())
        object["annotations"] = device.annotations;
    object["containerEdits"] = edits(device.edits);
    return object;
}

OrderedJson document(const Specification& specification)
{
    OrderedJson object = {{"cdiVersion", specification.version}, {"kind", specification.kind}};
    if (!specification.annotations.empty())
        object["annotations"] = specification.annotations;
    add(object, "devices", specification.devices, device);
    if (!specification.edits.is_empty())
        object["containerEdits"] = edits(specification.edits);
    return object;
}

/// Paths of the host need not be UTF-8; JSON must be.
std::string dump(const OrderedJson& value, int indent)
{
    return value.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

bool is_short(const OrderedJson& value)
{
    return std::ranges::none_of(value, [](const OrderedJson& one) { return one.is_structured(); });
}

/// Lists of scalars in one line, all else in blocks. A string of JSON is one of YAML.
/// `plain_keys`: names of members, which need no quotes.
void write_yaml(const OrderedJson& value, std::size_t depth, bool plain_keys, std::string& text)
{
    if (!value.is_structured() || value.empty() || (value.is_array() && is_short(value))) {
        text += dump(value, -1) + "\n";
        return;
    }
    // The first member of an object in a list stands behind the dash.
    bool behind_dash = text.ends_with("- ");
    if (!text.empty() && !behind_dash) {
        text.pop_back(); // the space behind the colon
        text += "\n";
    }
    for (const auto& [key, member] : value.items()) {
        if (!behind_dash)
            text.append(2 * depth, ' ');
        behind_dash = false;
        text += value.is_array() ? "- " : (plain_keys ? key : dump(key, -1)) + ": ";
        write_yaml(member, depth + 1, key != "annotations", text);
    }
}

/// Escapes U+2028 and U+2029, which end a line for some readers of YAML.
std::string without_line_separators(std::string text)
{
    for (const auto& [separator, escape] :
         {std::pair("\u2028", "\\u2028"), std::pair("\u2029", "\\u2029")})
        for (std::size_t at = 0; (at = text.find(separator, at)) != std::string::npos;)
            text.replace(at, std::string_view(separator).size(), escape);
    return text;
}

} // namespace

std::string to_json(const Specification& specification)
{
    return base::without_control_characters(dump(document(specification), 2)) + "\n";
}

std::string to_yaml(const Specification& specification)
{
    std::string text;
    write_yaml(document(specification), 0, true, text);
    return without_line_separators(base::without_control_characters(text));
}

} // namespace gpucontainer::cdi
