// SPDX-License-Identifier: MIT
#include "config/yaml_fields.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::config {

Error mistake(std::size_t line, std::string_view what)
{
    return {Errc::usage, base::format("line {}: {}", line, what)};
}

std::string quote(std::string_view text)
{
    constexpr std::size_t longest = 60;

    std::string shown(text.substr(0, longest));
    std::ranges::replace_if(shown, base::is_control, '?');
    return base::format("\"{}{}\"", shown, text.size() > longest ? "..." : "");
}

Result<Fields> Fields::read(const YamlValue& map, std::string_view what, Names allowed)
{
    if (map.kind != YamlValue::Kind::map)
        return mistake(map.line, base::format("{} is not a map (allowed keys: {})", what,
                                              base::joined(allowed, ", ")));
    Fields fields;
    fields.line_ = map.line;
    for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
        const YamlValue& key = map.items[i];
        if (key.kind != YamlValue::Kind::scalar
            || std::ranges::find(allowed, key.text) == allowed.end())
            return mistake(key.line, base::format("unknown key {} (allowed: {})", quote(key.text),
                                                  base::joined(allowed, ", ")));
        if (!fields.fields_.emplace(key.text, Field{key.line, &map.items[i + 1]}).second)
            return mistake(key.line, base::format("key {} is repeated", key.text));
    }
    return fields;
}

const Field* Fields::find(std::string_view key) const
{
    const auto found = fields_.find(key);
    return found == fields_.end() ? nullptr : &found->second;
}

Result<Field> Fields::need(std::string_view key) const
{
    if (const Field* field = find(key))
        return *field;
    return mistake(line_, base::format("{} is missing", key));
}

Result<std::string_view> Fields::text(std::string_view key) const
{
    GPUCTR_TRY(const Field field, need(key));
    if (field.value->kind != YamlValue::Kind::scalar)
        return mistake(field.line, base::format("{} is not a single value", key));
    if (field.value->text.empty())
        return mistake(field.line, base::format("{} is empty", key));
    return std::string_view(field.value->text);
}

Result<std::string_view> Fields::choice(std::string_view key, Names allowed) const
{
    GPUCTR_TRY(const std::string_view value, text(key));
    if (std::ranges::find(allowed, value) == allowed.end())
        return mistake(find(key)->line, base::format("unknown {} {} (allowed: {})", key,
                                                     quote(value), base::joined(allowed, ", ")));
    return value;
}

Result<bool> Fields::flag(std::string_view key) const
{
    constexpr std::array<std::string_view, 2> allowed = {"true", "false"};

    if (!has(key))
        return false;
    GPUCTR_TRY(const std::string_view value, choice(key, allowed));
    return value == "true";
}

} // namespace gpucontainer::config
