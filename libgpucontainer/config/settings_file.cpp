// SPDX-License-Identifier: MIT
#include "config/settings_file.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "config/trusted_file.hpp"

#include <cerrno>
#include <sys/stat.h>

namespace gpucontainer::config {
namespace {

constexpr const char* usual_form =
    "it holds lines `KEY: VALUE`, such as `driver-root: /run/driver`";

/// Checks that the file or a directory above it does not exist. A link that leads nowhere is an
/// error, because a policy may be meant to be there.
Result<void> check_missing(const std::string& path)
{
    struct stat status = {};
    std::string part = path;
    while (::lstat(part.c_str(), &status) != 0) {
        const auto slash = part.find_last_of('/');
        if ((errno != ENOENT && errno != ENOTDIR) || slash == std::string::npos || slash == 0)
            return {};
        part.erase(slash);
    }
    if (S_ISDIR(status.st_mode))
        return {};
    return Error(Errc::usage, base::format("{}: {} leads nowhere", path, part)).with_object(path);
}

} // namespace

Result<std::vector<Setting>> read_settings(const std::string& path, bool with_mistakes)
{
    auto text = read_trusted(path);
    if (!text)
        return std::move(text).error().context("configuration").with_object(path);
    if (!*text) {
        GPUCTR_CHECK(check_missing(path), "configuration");
        return std::vector<Setting>();
    }
    auto settings = parse_settings(**text, path);
    if (!settings)
        return std::move(settings).error().with_object(path).with_hint(usual_form);
    for (const Setting& setting : *settings)
        if (!setting.mistake.empty() && (!with_mistakes || setting.concerns_policy))
            return Error(Errc::usage, setting.mistake)
                .with_object(setting.key)
                .with_hint(usual_form);
    return settings;
}

} // namespace gpucontainer::config
