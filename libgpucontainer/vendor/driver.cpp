// SPDX-License-Identifier: MIT
#include "vendor/driver.hpp"

namespace gpucontainer::vendor {

FileId FileId::of(const struct stat& status)
{
    constexpr std::int64_t second = 1'000'000'000;
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * second + status.st_mtim.tv_nsec};
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

} // namespace gpucontainer::vendor
