// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "config/trusted_file.hpp"

#include <cerrno>
#include <sys/stat.h>

using namespace gpucontainer;

namespace {

/// A file is missing where the directory that it would be in, or one above, has no such
/// name. Behind a link that leads nowhere there may be a policy.
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

constexpr const char* usual_form =
    "it holds lines `KEY: VALUE`, such as `driver-root: /run/driver`";

/// The object of an error is the file, or the key that is wrong.
Result<std::vector<config::Setting>> read_settings(const std::string& path, bool with_mistakes)
{
    auto text = config::read_trusted(path);
    if (!text)
        return std::move(text).error().context("configuration").with_object(path);
    if (!*text) {
        GPUCTR_CHECK(check_missing(path), "configuration");
        return std::vector<config::Setting>();
    }
    auto settings = config::parse_settings(**text, path);
    if (!settings)
        return std::move(settings).error().with_object(path).with_hint(usual_form);
    for (const config::Setting& setting : *settings)
        if (!setting.mistake.empty() && (!with_mistakes || setting.concerns_policy))
            return Error(Errc::usage, setting.mistake)
                .with_object(setting.key)
                .with_hint(usual_form);
    return settings;
}

gpuctr_status open_config(const char* path, bool with_mistakes, gpuctr_config** ret_config,
                          gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (path == nullptr || ret_config == nullptr)
            return Error(Errc::usage, "configuration: path or ret_config is missing");
        GPUCTR_TRY(auto settings, read_settings(path, with_mistakes));
        *ret_config = new gpuctr_config{std::move(settings)};
        return {};
    });
}

} // namespace

gpuctr_status gpuctr_config_open(const char* path, gpuctr_config** ret_config,
                                 gpuctr_error** ret_error)
{
    return open_config(path, false, ret_config, ret_error);
}

gpuctr_status gpuctr_config_open_with_mistakes(const char* path, gpuctr_config** ret_config,
                                               gpuctr_error** ret_error)
{
    return open_config(path, true, ret_config, ret_error);
}

void gpuctr_config_free(gpuctr_config* config) { delete config; }

size_t gpuctr_config_setting_count(const gpuctr_config* config) { return config->settings.size(); }
const gpuctr_setting* gpuctr_config_setting_at(const gpuctr_config* config, size_t index)
{
    return capi::element_at<gpuctr_setting>(config->settings, index);
}

const char* gpuctr_setting_key(const gpuctr_setting* setting) { return setting->key.c_str(); }
const char* gpuctr_setting_value(const gpuctr_setting* setting) { return setting->value.c_str(); }
uint32_t gpuctr_setting_line(const gpuctr_setting* setting)
{
    return static_cast<std::uint32_t>(setting->line);
}
int gpuctr_setting_in_list(const gpuctr_setting* setting) { return setting->in_list ? 1 : 0; }
const char* gpuctr_setting_mistake(const gpuctr_setting* setting)
{
    return setting->mistake.empty() ? nullptr : setting->mistake.c_str();
}
