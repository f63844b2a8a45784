// SPDX-License-Identifier: MIT
#include "cdi/version.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cdi/names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gpucontainer::cdi {
namespace {

// 0.1.0 and 0.2.0 were published too, but no consumer takes them.
constexpr std::array<std::string_view, 8> known = {"0.3.0", "0.4.0", "0.5.0", "0.6.0",
                                                   "0.7.0", "0.8.0", "1.0.0", "1.1.0"};

std::ptrdiff_t position(std::string_view version)
{
    return std::ranges::find(known, version) - known.begin();
}

/// Collects what a specification uses.
class Needs {
public:
    Need found = {known.front(), ""};

    void use(std::string_view version, std::string what)
    {
        if (is_older(found.version, version))
            found = {version, std::move(what)};
    }

    void use(const Edits& edits, const std::string& of)
    {
        for (const Mount& mount : edits.mounts)
            if (!mount.type.empty())
                use("0.4.0", of + "the type of a mount");
        for (const DeviceNode& node : edits.nodes)
            if (!node.host_path.empty())
                use("0.5.0", of + "hostPath of a device node");
        if (edits.rdt)
            use("0.7.0", of + "intelRdt");
        if (!edits.additional_gids.empty())
            use("0.7.0", of + "additionalGids");
        if (edits.rdt && (!edits.rdt->schemata.empty() || edits.rdt->enable_monitoring))
            use("1.1.0", of + "schemata or enableMonitoring of intelRdt");
        if (!edits.net_devices.empty())
            use("1.1.0", of + "netDevices");
    }
};

} // namespace

std::span<const std::string_view> versions() { return known; }

std::string_view known_version(std::string_view text)
{
    if (text.starts_with('v'))
        text.remove_prefix(1);
    const auto* const found = std::ranges::find(known, text);
    return found == known.end() ? "" : *found;
}

bool is_older(std::string_view version, std::string_view other)
{
    return position(version) < position(other);
}

Need lowest_version(const Specification& specification)
{
    Needs needs;
    if (!specification.annotations.empty())
        needs.use("0.6.0", "annotations");
    if (has_dotted_class(specification.kind))
        needs.use("0.6.0", "a class with a dot");
    needs.use(specification.edits, "");
    for (const Device& device : specification.devices) {
        const std::string of = base::format("device {}: ", device.name);
        if (begins_with_digit(device.name))
            needs.use("0.5.0", of + "a name that begins with a digit");
        if (!device.annotations.empty())
            needs.use("0.6.0", of + "annotations");
        needs.use(device.edits, of);
    }
    return needs.found;
}

Result<void> set_version(Specification& specification, std::string_view wanted)
{
    const Need need = lowest_version(specification);
    if (wanted.empty()) {
        specification.version = need.version;
        return {};
    }
    const std::string_view version = known_version(wanted);
    if (version.empty()) {
        const std::vector<std::string> names(known.begin(), known.end());
        return Error(Errc::usage, base::format("unknown version '{}' of CDI", wanted))
            .with_object(std::string(wanted))
            .with_hint(base::format("known versions are {}", base::joined(names, ", ")));
    }
    if (is_older(version, need.version))
        return Error(Errc::usage, base::format("version {} of CDI is too old for this: {} needs {}",
                                               version, need.what, need.version))
            .with_object(std::string(wanted));
    specification.version = version;
    return {};
}

} // namespace gpucontainer::cdi
