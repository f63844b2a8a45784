// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <optional>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t max_devices = 20'000;
constexpr std::size_t max_entries = 1'000'000;
constexpr std::size_t max_octal_digits = 3;

bool is_octal(char c) { return c >= '0' && c <= '7'; }

/// Value of the escape that begins at text[at], behind the backslash; moves
/// `at` to its last character.
char unescape_one(std::string_view text, std::size_t& at)
{
    switch (text[at]) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        break;
    }
    if (!is_octal(text[at]))
        return text[at];
    unsigned value = 0;
    std::size_t digits = 0;
    while (digits < max_octal_digits && at + digits < text.size() && is_octal(text[at + digits]))
        value = value * 8 + static_cast<unsigned>(text[at + digits++] - '0');
    at += digits - 1;
    return static_cast<char>(static_cast<unsigned char>(value & 0xffU));
}

std::string unescape(std::string_view text)
{
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size())
            plain += unescape_one(text, ++i);
        else
            plain += text[i];
    }
    return plain;
}

std::optional<std::string> from_hex(std::string_view text)
{
    if (text.size() % 2 != 0)
        return std::nullopt;
    std::string bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const auto value = base::to_number(text.substr(i, 2), 16);
        if (!value)
            return std::nullopt;
        bytes += static_cast<char>(static_cast<unsigned char>(*value));
    }
    return bytes;
}

/// Splits "name=text"; the name must be a plain relative path.
std::optional<NamedText> named(std::string_view value)
{
    const auto equals = value.find('=');
    if (equals == std::string_view::npos)
        return std::nullopt;
    NamedText entry{std::string(value.substr(0, equals)), std::string(value.substr(equals + 1))};
    if (!is_plain_path("/" + entry.name))
        return std::nullopt;
    return entry;
}

/// Fields that become part of a path have to be the names and numbers that the kernel puts there.
Result<void> check_property(std::size_t number, const NamedText& property)
{
    const bool is_number = property.name == "MAJOR" || property.name == "MINOR";
    if (is_number && !base::to_number(property.text))
        return bad_line(number, "no device number:", property.text);
    if (property.name == "SUBSYSTEM" && !is_plain_name(property.text))
        return bad_line(number, "no name of a subsystem:", property.text);
    return {};
}

/// A link leads to something in sysfs, by a relative path.
Result<void> check_link(const SysDevice& device, std::size_t number, const NamedText& link)
{
    if (link.text.starts_with('/') || !target_of_link(device.path + "/" + link.name, link.text)
        || (link.name == "driver" && !is_plain_name(base::name_of(link.text))))
        return bad_line(number, "no link within sysfs:", link.text);
    return {};
}

/// Adds what stands behind "X: " of one line to the device.
Result<void> add_entry(SysDevice& device, std::size_t number, char kind, std::string_view value)
{
    if (kind == 'N' || kind == 'S') // a node's name is its DEVNAME too; dev.txt has both
        return {};
    auto entry = named(value);
    if (!entry)
        return bad_line(number, "no NAME=VALUE:", value);
    switch (kind) {
    case 'E':
        GPUCTR_CHECK(check_property(number, *entry));
        device.properties.push_back(std::move(*entry));
        return {};
    case 'L':
        GPUCTR_CHECK(check_link(device, number, *entry));
        device.links.push_back(std::move(*entry));
        return {};
    case 'A':
        entry->text = unescape(entry->text);
        device.attributes.push_back(std::move(*entry));
        return {};
    case 'H': {
        auto bytes = from_hex(entry->text);
        if (!bytes)
            return bad_line(number, "no hexadecimal bytes:", entry->name);
        entry->text = std::move(*bytes);
        device.attributes.push_back(std::move(*entry));
        return {};
    }
    default:
        return bad_line(number, "unknown kind of line", value);
    }
}

/// Begins a device or adds to the last one.
Result<void> parse_line(std::vector<SysDevice>& devices, std::size_t number, std::string_view line)
{
    if (line.size() < 3 || line.substr(1, 2) != ": ")
        return bad_line(number, "no 'X: ' at the start of", line);
    const std::string_view value = line.substr(3);
    if (line.front() != 'P')
        return devices.empty() ? bad_line(number, "no device before", line)
                               : add_entry(devices.back(), number, line.front(), value);
    if (!is_plain_path(value) || !base::is_below(value, "/devices"))
        return bad_line(number, "no plain path below /devices:", value);
    if (devices.size() == max_devices)
        return bad_line(number, "too many devices at", value);
    devices.push_back({std::string(value), {}, {}, {}});
    return {};
}

} // namespace

std::string_view SysDevice::property(std::string_view name) const
{
    const auto found = std::find_if(properties.begin(), properties.end(),
                                    [&](const NamedText& entry) { return entry.name == name; });
    return found == properties.end() ? std::string_view() : std::string_view(found->text);
}

Result<std::vector<SysDevice>> parse_devices(std::string_view text)
{
    std::vector<SysDevice> devices;
    std::size_t number = 0;
    for (const std::string_view line : base::split(text, '\n')) {
        if (++number > max_entries)
            return Error(Errc::usage, base::format("more than {} lines", max_entries));
        if (!base::trim(line).empty() && !line.starts_with('#'))
            GPUCTR_CHECK(parse_line(devices, number, line));
    }
    return devices;
}

} // namespace gpucontainer::simhost
