// SPDX-License-Identifier: MIT
#include "cdi/without_values.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/value.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace gpucontainer::cdi {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Stands for what is left out as a whole.
constexpr const char* left_out = "...";

std::string name_alone(const std::string& setting)
{
    const auto equals = setting.find('=');
    return equals == std::string::npos ? left_out : setting.substr(0, equals + 1);
}

OrderedJson scalar_of(const Value& value, bool is_secret)
{
    if (value.type == Value::Type::null)
        return nullptr;
    if (is_secret)
        return name_alone(value.text);
    if (value.type == Value::Type::text)
        return value.text;
    auto plain = OrderedJson::parse(value.text, nullptr, false);
    return plain.is_primitive() ? plain : OrderedJson(value.text);
}

/// How deep it can go is limited when it is read.
OrderedJson json_of(const Value& value, bool is_secret)
{
    if (value.type == Value::Type::list) {
        OrderedJson list = OrderedJson::array();
        for (const Value& item : value.items)
            list.push_back(json_of(item, is_secret));
        return list;
    }
    if (value.type != Value::Type::map)
        return scalar_of(value, is_secret);
    OrderedJson map = OrderedJson::object();
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const std::string& name = value.items[i].text;
        // Engines' parsers of JSON take names in any case.
        map[is_secret ? name_alone(name) : name] =
            json_of(value.items[i + 1], is_secret || base::to_lower(name) == "env");
    }
    return map;
}

} // namespace

Result<std::string> without_values(std::string_view text, Form form)
{
    GPUCTR_TRY(const Value value,
               form == Form::json ? parse_json_value(text) : parse_yaml_value(text));
    return json_of(value, false).dump(4, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

} // namespace gpucontainer::cdi
