// SPDX-License-Identifier: MIT
#include "import/oci_config.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;

/// The source of a mount that is only there for its name.
constexpr std::string_view no_source = "/dev/null";

constexpr const char* no_list = "its environment is not a list of variables";

void add_fault(Parts& parts, std::string fault)
{
    if (parts.fault.empty())
        parts.fault = std::move(fault);
}

void read_variable(std::string_view text, Variables& variables, Parts& parts)
{
    const auto equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (equals == std::string_view::npos || !is_variable_name(name))
        return;
    const std::string_view value = text.substr(equals + 1);
    const auto terminator = value.find('\0');
    const bool is_whole = value.size() <= longest_value && terminator == std::string_view::npos;
    if (!is_whole && !is_variable_of_maker(name)) {
        variables.erase(name);
        if (has_prefix_of_maker(name)) // that it is there counts
            variables[name] = "";
        return;
    }
    if (!is_whole)
        add_fault(parts, base::format("the value of {} in it is too long", name));
    variables[name] = value.substr(0, std::min(terminator, longest_value));
}

void read_variables(const Json& list, Variables& variables, Parts& parts)
{
    if (!list.is_array())
        return add_fault(parts, no_list);
    for (const Json& one : list)
        if (one.is_string())
            read_variable(one.get_ref<const std::string&>(), variables, parts);
        else
            add_fault(parts, no_list);
}

/// What a mount below a maker's directory names.
struct Named {
    std::string device;  ///< "0" as "0", and "cdi/VENDOR/CLASS/0" as "VENDOR/CLASS=0"; or "".
    std::string channel; ///< "imex/0" as "0"; or "".
};

Named named_by(std::string_view below)
{
    const auto parts = base::split(below, '/');
    for (const std::string_view part : parts)
        if (part.empty() || part == "." || part == "..")
            return {};
    if (parts.size() == 1)
        return {std::string(below), ""};
    if (parts.size() == 2 && parts[0] == "imex")
        return {"", std::string(parts[1])};
    if (parts.size() == 4 && parts[0] == "cdi")
        return {base::format("{}/{}={}", parts[1], parts[2], parts[3]), ""};
    return {};
}

void append(std::string& list, const std::string& word)
{
    if (!word.empty())
        list += (list.empty() ? "" : ",") + word;
}

} // namespace

bool is_variable_of_maker(std::string_view name)
{
    return std::ranges::any_of(drivers::vendors(), [&](const drivers::Vendor& vendor) {
        return vendor.container.has(name);
    });
}

bool has_prefix_of_maker(std::string_view variable)
{
    return std::ranges::any_of(drivers::vendors(), [&](const drivers::Vendor& vendor) {
        const std::string_view prefix = vendor.container.prefix;
        return !prefix.empty() && variable.starts_with(prefix);
    });
}

bool is_mount_of_maker(const Json& mount)
{
    const std::string_view target = text_of(mount, "destination");
    return std::ranges::any_of(drivers::vendors(), [&](const drivers::Vendor& vendor) {
        const std::string_view directory = vendor.container.volumes;
        return !directory.empty() && target.starts_with(directory)
               && target.substr(directory.size()).starts_with('/');
    });
}

Variables environment_of(Parts& parts)
{
    const Json* const process = member(&parts.kept, "process");
    const Json* const config = member(&parts.kept, "config");
    if (process == nullptr && config == nullptr)
        add_fault(parts, "neither an OCI runtime configuration nor an image's: it has no "
                         "\"process\" and no \"config\"");
    const Json* const list = process != nullptr ? member(process, "env") : member(config, "Env");
    Variables variables;
    if (list != nullptr && !list->is_null())
        read_variables(*list, variables, parts);
    return variables;
}

NamedByMounts named_by_mounts(Parts& parts, const drivers::ContainerNames& names)
{
    NamedByMounts named;
    const Json* const mounts = member(&parts.kept, "mounts");
    if (names.volumes.empty() || mounts == nullptr || !mounts->is_array()
        || member(&parts.kept, "process") == nullptr)
        return named;
    const std::string prefix = std::string(names.volumes) + "/";
    for (const Json& mount : *mounts) {
        const std::string_view target = text_of(mount, "destination");
        if (!target.starts_with(prefix) || text_of(mount, "source") != no_source)
            continue;
        const auto [device, channel] = named_by(target.substr(prefix.size()));
        append(named.devices, device);
        append(named.channels, channel);
        if (std::max(named.devices.size(), named.channels.size()) > longest_value) {
            add_fault(parts, base::format("too many mounts below {}", names.volumes));
            break;
        }
    }
    return named;
}

Result<Variables> read_oci_config(std::string_view text)
{
    const auto keeps = [](std::string_view name, const Json& element) {
        return name != "mounts/*" || is_mount_of_maker(element);
    };
    Parts parts = read_parts(text, {parts_with_variables, keeps});
    Variables variables = environment_of(parts);
    for (const drivers::Vendor& vendor : drivers::vendors()) {
        const NamedByMounts named = named_by_mounts(parts, vendor.container);
        if (!named.devices.empty())
            variables[std::string(vendor.container.devices)] = named.devices;
        if (!named.channels.empty())
            variables[std::string(vendor.container.channels)] = named.channels;
    }
    if (!parts.fault.empty())
        return Error(Errc::usage, std::move(parts.fault));
    return variables;
}

} // namespace gpucontainer::imports
