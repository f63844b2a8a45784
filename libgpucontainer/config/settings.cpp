// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "config/yaml_document.hpp"

#include <algorithm>
#include <set>

namespace gpucontainer::config {
namespace {

Error mistake(std::size_t line, std::string_view what)
{
    return {Errc::usage, fmt::format("line {}: {}", line, what)};
}

bool has_content(std::string_view yaml)
{
    const auto lines = base::split(yaml, '\n');
    return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
        const std::string_view text = base::trim(line);
        return !text.empty() && !text.starts_with('#');
    });
}

Result<void> add(std::vector<Setting>& settings, const YamlValue& key, const YamlValue& value)
{
    if (value.kind != YamlValue::Kind::scalar)
        return mistake(key.line, fmt::format("{} is neither a value nor a list", key.text));
    if (value.text.empty())
        return mistake(key.line, fmt::format("{} is empty", key.text));
    if (value.text.find('\0') != std::string::npos)
        return mistake(key.line, fmt::format("{} has a null character in it", key.text));
    settings.push_back({key.line, key.text, value.text});
    return {};
}

Result<void> check(const YamlValue& key)
{
    const auto is_plain = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
    if (key.text.empty() || !std::all_of(key.text.begin(), key.text.end(), is_plain))
        return mistake(key.line, "a key has other characters than a-z and -");
    return {};
}

} // namespace

Result<std::vector<Setting>> parse_settings(std::string_view yaml)
{
    std::vector<Setting> settings;
    if (!has_content(yaml))
        return settings;
    GPUCTR_TRY(const YamlValue document, parse_yaml(yaml));
    if (document.kind != YamlValue::Kind::map)
        return mistake(document.line, "no map of keys and values");
    std::set<std::string_view> known;
    for (std::size_t i = 0; i + 1 < document.items.size(); i += 2) {
        const YamlValue& key = document.items[i];
        const YamlValue& value = document.items[i + 1];
        GPUCTR_CHECK(check(key));
        if (!known.insert(key.text).second)
            return mistake(key.line, fmt::format("key {} is repeated", key.text));
        if (value.kind != YamlValue::Kind::list) {
            GPUCTR_CHECK(add(settings, key, value));
            continue;
        }
        // Nothing to choose from must not read as no limit.
        if (value.items.empty())
            return mistake(key.line, fmt::format("{} is an empty list", key.text));
        for (const YamlValue& item : value.items)
            GPUCTR_CHECK(add(settings, key, item));
    }
    return settings;
}

} // namespace gpucontainer::config
