// SPDX-License-Identifier: MIT
#include "vendor/driver.hpp"

#include "base/file_time.hpp"

#include <algorithm>

namespace gpucontainer::vendor {

FileId FileId::of(const struct stat& status)
{
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            base::to_nanoseconds(status.st_mtim)};
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
    const auto said = std::ranges::find(skipped, node.host_path, &Skipped::source);
    return said != skipped.end() ? said->reason : "its permissions or the device cgroup forbid it";
}

} // namespace gpucontainer::vendor
