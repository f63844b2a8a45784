// SPDX-License-Identifier: MIT
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "config/settings_file.hpp"

using namespace gpucontainer;

namespace {

gpuctr_status open_config(const char* path, bool with_mistakes, gpuctr_config** ret_config,
                          gpuctr_error** ret_error)
{
    return capi::boundary(ret_error, [&]() -> Result<void> {
        if (path == nullptr || ret_config == nullptr)
            return Error(Errc::usage, "configuration: path or ret_config is missing");
        GPUCTR_TRY(auto settings, config::read_settings(path, with_mistakes));
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
