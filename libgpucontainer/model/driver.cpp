// SPDX-License-Identifier: MIT
#include "model/driver.hpp"

#include "base/file_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpucontainer::model {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> reader_names = {"library", "runtime", "filter", "process",
                                                          "toolkit"};
constexpr std::array<std::string_view, 4> inside_names = {"uuid", "position", "name", "nothing"};

template <typename Enum, std::size_t Size>
std::optional<Enum> parse(const std::array<std::string_view, Size>& names, std::string_view text)
{
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

} // namespace

FileId FileId::of(const struct stat& status)
{
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            base::to_nanoseconds(status.st_mtim)};
}

std::string_view name(VisibleDevices::Reader reader)
{
    return reader_names.at(static_cast<std::size_t>(reader));
}

std::string_view name(VisibleDevices::Inside inside)
{
    return inside_names.at(static_cast<std::size_t>(inside));
}

std::optional<VisibleDevices::Reader> parse_reader(std::string_view text)
{
    return parse<VisibleDevices::Reader>(reader_names, text);
}

std::optional<VisibleDevices::Inside> parse_inside(std::string_view text)
{
    return parse<VisibleDevices::Inside>(inside_names, text);
}

std::string_view name(VersionSource source)
{
    switch (source) {
    case VersionSource::module:
        return "module";
    case VersionSource::option:
        return "option";
    case VersionSource::files:
        return "files";
    }
    return "";
}

std::optional<VersionSource> parse_version_source(std::string_view text)
{
    for (const auto source : {VersionSource::module, VersionSource::option, VersionSource::files})
        if (name(source) == text)
            return source;
    return std::nullopt;
}

std::string DriverStack::obstacle_to(const DeviceNode& node) const
{
    const auto said = std::ranges::find(findings, node.host_path, &Finding::evidence);
    return said != findings.end() ? said->text : "its permissions or the device cgroup forbid it";
}

} // namespace gpucontainer::model
