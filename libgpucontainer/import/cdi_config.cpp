// SPDX-License-Identifier: MIT
#include "import/cdi_config.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::imports {
namespace {

using ConfigJson = nlohmann::json;

/// Each takes the place of the old one, where that is.
void set_in_place(ConfigJson& env, const std::vector<std::string>& variables)
{
    for (const std::string& variable : variables) {
        const std::string name = variable.substr(0, variable.find('=') + 1);
        const auto old = std::ranges::find_if(env, [&](const ConfigJson& pair) {
            return pair.is_string() && pair.get_ref<const std::string&>().starts_with(name);
        });
        if (old != env.end())
            *old = variable;
        else
            env.push_back(variable);
    }
}

/// A node belongs to the container's user, unless the specification says whose it is.
void set_owner(ConfigJson& device, const char* name, const std::optional<std::uint32_t>& id,
               const ConfigJson* user)
{
    const ConfigJson* const of_user = member(user, name);
    if (id)
        device[name] = *id;
    else if (of_user != nullptr && of_user->is_number_unsigned() && *of_user != 0)
        device[name] = *of_user;
}

ConfigJson device_of(const cdi::DeviceNode& node, const ConfigJson* user)
{
    ConfigJson device = {{"path", node.path}, {"type", node.type}};
    if (node.type != "p") {
        device["major"] = node.major.value_or(0);
        device["minor"] = node.minor.value_or(0);
    }
    if (node.file_mode)
        device["fileMode"] = *node.file_mode;
    set_owner(device, "uid", node.uid, user);
    set_owner(device, "gid", node.gid, user);
    return device;
}

/// None if the device cgroup gets no rule.
std::optional<ConfigJson> rule_of(const cdi::DeviceNode& node)
{
    if ((node.type != "b" && node.type != "c") || node.permissions == "none")
        return std::nullopt;
    return ConfigJson{{"allow", true},
                      {"type", node.type},
                      {"major", node.major.value_or(0)},
                      {"minor", node.minor.value_or(0)},
                      {"access", node.permissions.empty() ? "rwm" : node.permissions}};
}

ConfigJson mount_of(const cdi::Mount& mount)
{
    ConfigJson one = {{"destination", mount.container_path}, {"source", mount.host_path}};
    if (!mount.type.empty())
        one["type"] = mount.type;
    if (!mount.options.empty())
        one["options"] = mount.options;
    return one;
}

ConfigJson hook_of(const cdi::Hook& hook)
{
    ConfigJson one = {{"path", hook.path}};
    if (!hook.args.empty())
        one["args"] = hook.args;
    if (!hook.env.empty())
        one["env"] = hook.env;
    if (hook.timeout)
        one["timeout"] = *hook.timeout;
    return one;
}

ConfigJson rdt_of(const cdi::Rdt& rdt)
{
    ConfigJson one = ConfigJson::object();
    const auto set = [&](const char* name, const auto& value) {
        if (!value.empty())
            one[name] = value;
    };
    set("closID", rdt.clos_id);
    set("l3CacheSchema", rdt.l3_cache_schema);
    set("memBwSchema", rdt.memory_bandwidth_schema);
    set("schemata", rdt.schemata);
    if (rdt.enable_monitoring)
        one["enableMonitoring"] = true;
    return one;
}

/// The number of names in a path.
std::size_t depth_of(std::string_view path)
{
    const auto names = base::split(path, '/');
    return static_cast<std::size_t>(std::ranges::count_if(
        names, [](std::string_view name) { return !name.empty() && name != "."; }));
}

void sort_mounts(ConfigJson& mounts)
{
    std::ranges::stable_sort(
        mounts.get_ref<ConfigJson::array_t&>(), {},
        [](const ConfigJson& mount) { return depth_of(text_of(mount, "destination")); });
}

Result<void> edit_process(ConfigJson& config, const cdi::Edits& edits)
{
    if (edits.env.empty() && edits.additional_gids.empty())
        return {};
    GPUCTR_TRY(ConfigJson* const process, made_object(config, "process"));
    if (!edits.env.empty()) {
        GPUCTR_TRY(ConfigJson* const env, made_list(*process, "env"));
        set_in_place(*env, edits.env);
    }
    if (edits.additional_gids.empty())
        return {};
    GPUCTR_TRY(ConfigJson* const user, made_object(*process, "user"));
    GPUCTR_TRY(ConfigJson* const gids, made_list(*user, "additionalGids"));
    for (const std::uint32_t gid : edits.additional_gids)
        if (std::ranges::find(*gids, ConfigJson(gid)) == gids->end())
            gids->push_back(gid);
    return {};
}

Result<void> edit_devices(ConfigJson& config, const cdi::Edits& edits)
{
    if (edits.nodes.empty())
        return {};
    GPUCTR_TRY(ConfigJson* const of_linux, made_object(config, "linux"));
    GPUCTR_TRY(ConfigJson* const devices, made_list(*of_linux, "devices"));
    GPUCTR_TRY(ConfigJson* const resources, made_object(*of_linux, "resources"));
    GPUCTR_TRY(ConfigJson* const rules, made_list(*resources, "devices"));
    const ConfigJson* const user = member(member(&config, "process"), "user");
    ConfigJson added = ConfigJson::array();
    for (const cdi::DeviceNode& node : edits.nodes) {
        added.push_back(device_of(node, user));
        if (auto rule = rule_of(node))
            rules->push_back(*std::move(rule));
    }
    replace_by_name(*devices, added, "path");
    return {};
}

Result<void> edit_mounts(ConfigJson& config, const cdi::Edits& edits)
{
    if (edits.mounts.empty())
        return {};
    GPUCTR_TRY(ConfigJson* const mounts, made_list(config, "mounts"));
    ConfigJson added = ConfigJson::array();
    for (const cdi::Mount& mount : edits.mounts)
        added.push_back(mount_of(mount));
    replace_by_name(*mounts, added, "destination");
    sort_mounts(*mounts);
    return {};
}

Result<void> edit_rest(ConfigJson& config, const cdi::Edits& edits)
{
    for (const cdi::Hook& hook : edits.hooks) {
        GPUCTR_TRY(ConfigJson* const hooks, made_object(config, "hooks"));
        GPUCTR_TRY(ConfigJson* const stage, made_list(*hooks, hook.name.c_str()));
        stage->push_back(hook_of(hook));
    }
    for (const cdi::NetDevice& device : edits.net_devices) {
        GPUCTR_TRY(ConfigJson* const of_linux, made_object(config, "linux"));
        GPUCTR_TRY(ConfigJson* const devices, made_object(*of_linux, "netDevices"));
        (*devices)[device.host_name] = {{"name", device.name}};
    }
    if (edits.rdt) {
        GPUCTR_TRY(ConfigJson* const of_linux, made_object(config, "linux"));
        (*of_linux)["intelRdt"] = rdt_of(*edits.rdt);
    }
    return {};
}

Result<void> edit_all(ConfigJson& config, const cdi::Edits& edits)
{
    if (!config.is_object())
        return Error(Errc::usage, "it is no object");
    GPUCTR_CHECK(edit_process(config, edits));
    GPUCTR_CHECK(edit_devices(config, edits));
    GPUCTR_CHECK(edit_mounts(config, edits));
    return edit_rest(config, edits);
}

} // namespace

Result<std::string> config_with_edits(std::string_view config, const cdi::Edits& edits)
{
    GPUCTR_TRY(ConfigJson document, parse_document(config), "the configuration of the container");
    GPUCTR_CHECK(edit_all(document, edits), "the configuration of the container");
    return base::without_control_characters(document.dump()) + "\n";
}

} // namespace gpucontainer::imports
