// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// A site's configuration file in C++20, over the C interface. For programs that take their
/// options from it, as gpuctr-setup does.

#include <gpucontainer/gpucontainer.hpp>

#if __cplusplus >= 202002L // else gpucontainer.hpp has said so

#include <string>
#include <string_view>

namespace gpucontainer {

/// One value of a configuration file; a view into its Config.
class Setting {
public:
    explicit Setting(const gpuctr_setting* setting) noexcept : setting_(setting) {}
    std::string_view key() const noexcept { return gpuctr_setting_key(setting_); }
    std::string_view value() const noexcept { return gpuctr_setting_value(setting_); }
    bool in_list() const noexcept { return gpuctr_setting_in_list(setting_) != 0; }
    unsigned line() const noexcept { return gpuctr_setting_line(setting_); }
    /// What is wrong with the key, which then has no value; empty if nothing is wrong.
    std::string_view mistake() const noexcept
    {
        const char* const mistake = gpuctr_setting_mistake(setting_);
        return mistake != nullptr ? mistake : "";
    }

private:
    const gpuctr_setting* setting_;
};

/// A site's configuration file; empty if the file is missing. Immutable.
class Config {
public:
    /// Throws Error: usage, permission.
    explicit Config(const std::string& path) : Config(path, gpuctr_config_open) {}

    /// The same, but mistakes that cannot concern the policy become settings; see
    /// gpuctr_config_open_with_mistakes(). Throws Error: usage, permission.
    static Config with_mistakes(const std::string& path)
    {
        return {path, gpuctr_config_open_with_mistakes};
    }

    auto settings() const noexcept
    {
        return detail::List<Setting, gpuctr_config_setting_count, gpuctr_config_setting_at,
                            gpuctr_config>(handle_.get());
    }

private:
    Config(const std::string& path, decltype(gpuctr_config_open)* open)
    {
        gpuctr_config* config = nullptr;
        gpuctr_error* error = nullptr;
        detail::check(open(path.c_str(), &config, &error), error);
        handle_.reset(config);
    }

    detail::Handle<gpuctr_config, gpuctr_config_free> handle_;
};

} // namespace gpucontainer

#endif
