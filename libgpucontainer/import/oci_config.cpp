// SPDX-License-Identifier: MIT
#include "import/oci_config.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "import/oci_document.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::imports {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_volumes = 4096;

/// The source of a mount that is only there for its name.
constexpr std::string_view no_source = "/dev/null";

Result<Variables> read_variables(const Json& list)
{
    if (!list.is_array() || list.size() > most_variables)
        return Error(Errc::usage, "its environment is not a list of variables");
    Variables variables;
    for (const Json& one : list) {
        if (!one.is_string())
            return Error(Errc::usage, "its environment is not a list of variables");
        const std::string_view text = one.get_ref<const std::string&>();
        const auto equals = text.find('=');
        const std::string_view name = text.substr(0, equals);
        if (equals == std::string_view::npos || !is_variable_name(name))
            continue;
        const std::string_view value = text.substr(equals + 1);
        if (value.size() > longest_value || value.find('\0') != std::string_view::npos)
            return Error(Errc::usage, base::format("the value of {} in it is too long", name));
        variables[std::string(name)] = value;
    }
    return variables;
}

/// The device that a mount below a vendor's directory names: "0" as "0", and "cdi/VENDOR/CLASS/0"
/// as "VENDOR/CLASS=0". "" if it names none.
std::string device_of(std::string_view below)
{
    const auto parts = base::split(below, '/');
    for (const std::string_view part : parts)
        if (part.empty() || part == "." || part == "..")
            return "";
    if (parts.size() == 1)
        return std::string(below);
    if (parts.size() == 4 && parts[0] == "cdi")
        return base::format("{}/{}={}", parts[1], parts[2], parts[3]);
    return "";
}

/// What the mounts name below a directory.
Result<std::vector<std::string>> volumes(const Json& mounts, std::string_view directory)
{
    std::vector<std::string> devices;
    const std::string prefix = std::string(directory) + "/";
    for (const Json& mount : mounts) {
        const std::string_view target = text_of(mount, "destination");
        if (!target.starts_with(prefix) || text_of(mount, "source") != no_source)
            continue;
        std::string device = device_of(target.substr(prefix.size()));
        if (device.size() > longest_value || devices.size() == most_volumes)
            return Error(Errc::usage, base::format("too many mounts below {}", directory));
        if (!device.empty())
            devices.push_back(std::move(device));
    }
    return devices;
}

Result<void> add_volumes(const Json& mounts, Variables& variables)
{
    for (const drivers::Vendor& vendor : drivers::vendors()) {
        if (vendor.container.volumes.empty())
            continue;
        GPUCTR_TRY(const auto devices, volumes(mounts, vendor.container.volumes));
        if (!devices.empty())
            variables[std::string(vendor.container.devices)] = base::joined(devices, ",");
    }
    return {};
}

} // namespace

Result<Variables> read_oci_config(std::string_view text)
{
    GPUCTR_TRY(const Json document, parse_document(text));
    return variables_of(document);
}

Result<Variables> variables_of(const Json& document)
{
    const Json* const process = member(&document, "process");
    const Json* const config = member(&document, "config");
    if (process == nullptr && config == nullptr)
        return Error(Errc::usage, "neither an OCI runtime configuration nor an image's: it has no "
                                  "\"process\" and no \"config\"");
    const Json* const list = process != nullptr ? member(process, "env") : member(config, "Env");
    Variables variables;
    if (list != nullptr && !list->is_null()) {
        GPUCTR_TRY(variables, read_variables(*list));
    }
    const Json* const mounts = member(&document, "mounts");
    if (process != nullptr && mounts != nullptr && mounts->is_array())
        GPUCTR_CHECK(add_volumes(*mounts, variables));
    return variables;
}

} // namespace gpucontainer::imports
