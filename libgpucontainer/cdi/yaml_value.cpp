// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "cdi/value.hpp"
#include "config/yaml_document.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::cdi {
namespace {

using config::YamlValue;

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a word without quotes is a number to readers of YAML: "0", "-1", "0x1f", "1.5", "1e3",
/// ".inf".
bool is_number(std::string_view text)
{
    if (text.starts_with('-') || text.starts_with('+'))
        text.remove_prefix(1);
    const std::string lower = base::to_lower(text);
    if (lower == ".inf" || lower == ".nan")
        return true;
    if (lower.starts_with("0x") || lower.starts_with("0o") || lower.starts_with("0b"))
        return lower.size() > 2
               && lower.find_first_not_of("0123456789abcdef_", 2) == std::string::npos;
    bool dot = false;
    bool digit = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (is_decimal_digit(c) || (c == '_' && digit))
            digit = true;
        else if (c == '.' && !dot)
            dot = true;
        else if ((c == 'e' || c == 'E') && digit)
            return text.find_first_not_of("0123456789+-", i + 1) == std::string_view::npos
                   && i + 1 < text.size();
        else
            return false;
    }
    return digit;
}

/// What a word without quotes is to YAML 1.1, by which engines read specifications.
Value::Type type_of(std::string_view text)
{
    constexpr std::array<std::string_view, 8> booleans = {"true", "false", "yes", "no",
                                                          "on",   "off",   "y",   "n"};
    const std::string lower = base::to_lower(text);
    if (text.empty() || text == "~" || lower == "null")
        return Value::Type::null;
    if (std::ranges::find(booleans, lower) != booleans.end())
        return Value::Type::boolean;
    return is_number(text) ? Value::Type::number : Value::Type::text;
}

/// Its depth is that of the document, which is limited.
Value convert(YamlValue&& yaml) // NOLINT(misc-no-recursion)
{
    Value value;
    value.line = yaml.line;
    if (yaml.kind == YamlValue::Kind::scalar) {
        value.type = yaml.quoted ? Value::Type::text : type_of(yaml.text);
        value.text = std::move(yaml.text);
        return value;
    }
    value.type = yaml.kind == YamlValue::Kind::list ? Value::Type::list : Value::Type::map;
    value.items.reserve(yaml.items.size());
    for (YamlValue& item : yaml.items)
        value.items.push_back(convert(std::move(item)));
    return value;
}

/// Its library makes no UTF-8 of the escapes \_ and \N. The line, or 0.
std::size_t line_of_broken_text(const Value& value) // NOLINT(misc-no-recursion): as deep as above
{
    if (!base::is_utf8(value.text))
        return value.line;
    for (const Value& item : value.items)
        if (const std::size_t line = line_of_broken_text(item); line != 0)
            return line;
    return 0;
}

} // namespace

Result<Value> parse_yaml_value(std::string_view text)
{
    const config::YamlLimits limits = {largest_document, deepest_document, most_values};
    GPUCTR_TRY(auto document, config::parse_yaml(text, {}, limits));
    if (!document)
        return Error(Errc::usage, "an empty document");
    Value value = convert(*std::move(document));
    if (const std::size_t line = line_of_broken_text(value); line != 0)
        return Error(Errc::usage, base::format("line {}: a text that is not UTF-8", line));
    return value;
}

} // namespace gpucontainer::cdi
