// SPDX-License-Identifier: MIT
#include "cdi/chosen.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/fields.hpp"
#include "cdi/names.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace gpucontainer::cdi {
namespace {

constexpr std::size_t most_devices = 256;
constexpr std::size_t most_named = 12;

Error about_name(const std::string& name, std::string_view why)
{
    return Error(Errc::usage, base::format("device {}: {}", shown(name), why)).with_object(name);
}

struct Name {
    std::string kind;
    std::string device;
};

Result<Name> parse_name(const std::string& text)
{
    const auto equals = text.find('=');
    if (equals == std::string::npos)
        return about_name(text, "no full name of a device")
            .with_hint("write VENDOR/CLASS=NAME; `gpuctr-setup cdi list` shows them");
    Name name = {text.substr(0, equals), text.substr(equals + 1)};
    for (const std::string& fault : {fault_in_kind(name.kind), fault_in_device_name(name.device)})
        if (!fault.empty())
            return about_name(text, fault);
    return name;
}

/// The other devices of the kind, or all of them.
std::string known_devices(const Listing& listing, const std::string& kind)
{
    std::vector<std::string> same;
    std::vector<std::string> all;
    for (const ListedDevice& device : listing.devices) {
        if (device.state != State::usable)
            continue;
        all.push_back(device.name);
        if (device.name.starts_with(kind + "="))
            same.push_back(device.name);
    }
    const std::vector<std::string>& named = same.empty() ? all : same;
    if (named.empty())
        return "";
    const auto end =
        named.begin() + static_cast<std::ptrdiff_t>(std::min(named.size(), most_named));
    return base::format("there are {}{}",
                        base::joined(std::vector<std::string>(named.begin(), end), ", "),
                        named.size() > most_named ? " and others" : "");
}

/// Nobody knows what a file has that is against the rules.
Error unknown(const Listing& listing, const std::string& name, const Name& parsed)
{
    std::string hint = known_devices(listing, parsed.kind);
    for (const model::Finding& finding : listing.findings)
        if (finding.code == model::FindingCode::cdi_invalid) {
            hint += base::format("{}{} is not read: {}", hint.empty() ? "" : "; ", finding.object,
                                 finding.text);
            break;
        }
    if (hint.empty())
        hint = "`gpuctr-setup cdi generate --install` writes a specification of this host's GPUs";
    return about_name(name, "no specification has it").with_hint(std::move(hint));
}

Error in_conflict(const Listing& listing, const std::string& name)
{
    std::vector<std::string> paths;
    for (const ListedDevice& device : listing.devices)
        if (device.name == name && device.state == State::conflict)
            paths.push_back(device.path);
    return about_name(name, base::format("{} have it", base::joined(paths, " and ")))
        .with_hint("remove one of these files: no engine takes the device from either");
}

Result<const ListedFile*> file_of(const Listing& listing, const std::string& name)
{
    GPUCTR_TRY(const Name parsed, parse_name(name));
    for (const ListedDevice& device : listing.devices) {
        if (device.name != name)
            continue;
        if (device.state == State::conflict)
            return in_conflict(listing, name);
        const auto file = std::ranges::find(listing.files, device.path, &ListedFile::path);
        if (device.state == State::usable && file != listing.files.end())
            return &*file;
    }
    return unknown(listing, name, parsed);
}

/// With the file in all places.
Edits placed(Edits edits, const std::string& file)
{
    edits.place.file = file;
    for (DeviceNode& node : edits.nodes)
        node.place.file = file;
    for (Mount& mount : edits.mounts)
        mount.place.file = file;
    for (Hook& hook : edits.hooks)
        hook.place.file = file;
    return edits;
}

/// The file has a device of this name.
Edits edits_of_device(const ListedFile& file, const std::string& name)
{
    const auto device = std::ranges::find_if(file.specification.devices, [&](const Device& one) {
        return base::format("{}={}", file.specification.kind, one.name) == name;
    });
    return placed(device->edits, file.path);
}

} // namespace

std::string Place::text() const
{
    return base::format("{}:{}{}{}", file, line, where.empty() ? "" : ": ", where);
}

Result<Chosen> choose(const Listing& listing, const std::vector<std::string>& names)
{
    Chosen chosen;
    std::set<const ListedFile*> files;
    if (names.empty() || names.size() > most_devices)
        return Error(Errc::usage,
                     names.empty() ? std::string("no device is named")
                                   : base::format("more than {} devices are named", most_devices));
    for (const std::string& name : names) {
        if (std::ranges::find(chosen.devices, name) != chosen.devices.end())
            continue;
        GPUCTR_TRY(const ListedFile* const file, file_of(listing, name));
        if (!file->distrust.empty())
            return Error(Errc::permission,
                         base::format("device {}: {}", shown(name), file->distrust))
                .with_object(file->path)
                .with_hint(file->remedy);
        if (files.insert(file).second)
            chosen.edits.push_back(placed(file->specification.edits, file->path));
        chosen.edits.push_back(edits_of_device(*file, name));
        chosen.devices.push_back(name);
    }
    return chosen;
}

} // namespace gpucontainer::cdi
