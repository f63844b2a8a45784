// SPDX-License-Identifier: MIT
#include "cdi/fields.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <charconv>
#include <utility>

namespace gpucontainer::cdi {
namespace {

std::string_view name_of(Value::Type type)
{
    switch (type) {
    case Value::Type::null:
        return "null";
    case Value::Type::text:
        return "a text";
    case Value::Type::number:
        return "a number";
    case Value::Type::boolean:
        return "true or false";
    case Value::Type::list:
        return "a list";
    case Value::Type::map:
        return "a map";
    }
    return "";
}

std::string wrong_type(Value::Type found, Value::Type wanted)
{
    const bool lacks_quotes = wanted == Value::Type::text
                              && (found == Value::Type::number || found == Value::Type::boolean);
    return base::format("{}, and not {}{}", name_of(found), name_of(wanted),
                        lacks_quotes ? "; put it in quotes" : "");
}

/// Decimal, or in a form of YAML: 0x1f, 0o17, 017.
std::optional<std::int64_t> parse_number(std::string_view text)
{
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+'))
        text.remove_prefix(1);
    int radix = 10;
    if (text.starts_with("0x") || text.starts_with("0o")) {
        radix = text[1] == 'x' ? 16 : 8;
        text.remove_prefix(2);
    } else if (text.size() > 1 && text.starts_with('0')) {
        radix = 8;
    }
    std::int64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, radix);
    if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-'))
        return std::nullopt;
    return negative ? -number : number;
}

/// Engines read `name: 0` as the text "0". Others are no text here: 0x10 would be "16" to them.
bool is_text(const Value& value)
{
    if (value.type == Value::Type::boolean)
        return value.text == "true" || value.text == "false";
    if (value.type != Value::Type::number)
        return value.type == Value::Type::text;
    const auto number = parse_number(value.text);
    return number && base::format("{}", *number) == value.text;
}

} // namespace

void Faults::add(std::size_t line, const std::string& where, std::string text)
{
    constexpr std::size_t most = 50;
    if (all_.size() < most)
        all_.push_back({line, where, std::move(text)});
}

std::string shown(std::string_view text)
{
    constexpr std::size_t longest = 80;
    std::string safe;
    for (const char c : text.substr(0, longest))
        safe += base::is_control(c) ? '?' : c;
    return base::format("'{}{}'", safe, text.size() > longest ? "..." : "");
}

Fields::Fields(const Value& value, std::string where, Faults& faults)
    : line_(value.line), where_(std::move(where)), faults_(faults)
{
    if (value.type != Value::Type::map) {
        complain(wrong_type(value.type, Value::Type::map));
        return;
    }
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const Value& key = value.items[i];
        if (!members_.emplace(key.text, Member{&value.items[i + 1]}).second)
            complain(base::format("{} more than once", shown(key.text)), key.line);
    }
}

Fields::~Fields()
{
    for (const auto& [name, member] : members_)
        if (!member.known)
            complain(base::format("unknown field {}", shown(name)), member.value->line);
}

void Fields::complain(std::string text, std::size_t line) const
{
    faults_.add(line != 0 ? line : line_, where_, std::move(text));
}

std::string Fields::place(const char* name) const
{
    return where_.empty() ? std::string(name) : base::format("{}.{}", where_, name);
}

bool Fields::has(const char* name) const
{
    const auto found = members_.find(name);
    return found != members_.end() && found->second.value->type != Value::Type::null;
}

const Value* Fields::find(const char* name, Value::Type type)
{
    const auto found = members_.find(name);
    if (found == members_.end())
        return nullptr;
    found->second.known = true;
    const Value& value = *found->second.value;
    if (value.type == type || (type == Value::Type::text && is_text(value)))
        return &value;
    if (value.type != Value::Type::null)
        faults_.add(value.line, place(name), wrong_type(value.type, type));
    return nullptr;
}

std::string Fields::text(const char* name)
{
    const Value* const value = find(name, Value::Type::text);
    return value != nullptr ? value->text : "";
}

std::string Fields::needed_text(const char* name)
{
    if (!has(name))
        complain(base::format("{} is missing", name));
    const Value* const value = find(name, Value::Type::text);
    if (value == nullptr)
        return "";
    if (value->text.empty())
        complain(base::format("{} is empty", name), value->line);
    return value->text;
}

std::vector<std::string> Fields::texts(const char* name)
{
    std::vector<std::string> texts;
    const Value* const list = find(name, Value::Type::list);
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
        const Value& one = list->items[i];
        if (!is_text(one))
            faults_.add(one.line, base::format("{}[{}]", place(name), i),
                        wrong_type(one.type, Value::Type::text));
        texts.push_back(one.text);
    }
    return texts;
}

std::optional<std::int64_t> Fields::number_in(const Value& value, const std::string& what,
                                              std::int64_t least, std::int64_t most) const
{
    if (value.type != Value::Type::number) {
        faults_.add(value.line, what, wrong_type(value.type, Value::Type::number));
        return std::nullopt;
    }
    const auto number = parse_number(value.text);
    if (number && *number >= least && *number <= most)
        return number;
    faults_.add(
        value.line, what,
        base::format("{} is no whole number from {} to {}", shown(value.text), least, most));
    return std::nullopt;
}

std::optional<std::int64_t> Fields::number(const char* name, std::int64_t least, std::int64_t most)
{
    const Value* const value = find(name, Value::Type::number);
    return value != nullptr ? number_in(*value, place(name), least, most) : std::nullopt;
}

std::vector<std::int64_t> Fields::numbers(const char* name, std::int64_t least, std::int64_t most)
{
    std::vector<std::int64_t> numbers;
    const Value* const list = find(name, Value::Type::list);
    for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i)
        if (const auto number =
                number_in(list->items[i], base::format("{}[{}]", place(name), i), least, most))
            numbers.push_back(*number);
    return numbers;
}

bool Fields::flag(const char* name)
{
    const Value* const value = find(name, Value::Type::boolean);
    return value != nullptr && base::to_lower(value->text) == "true";
}

std::map<std::string, std::string> Fields::map_of_texts(const char* name)
{
    std::map<std::string, std::string> texts;
    const Value* const map = find(name, Value::Type::map);
    for (std::size_t i = 0; map != nullptr && i + 1 < map->items.size(); i += 2) {
        const Value& value = map->items[i + 1];
        if (!is_text(value))
            faults_.add(value.line, base::format("{}.{}", place(name), shown(map->items[i].text)),
                        wrong_type(value.type, Value::Type::text));
        texts[map->items[i].text] = value.text;
    }
    return texts;
}

void Fields::map(const char* name, const std::function<void(Fields& fields)>& read)
{
    if (const Value* const value = find(name, Value::Type::map)) {
        Fields fields(*value, place(name), faults_);
        read(fields);
    }
}

void Fields::list(const char* name, const std::function<void(Fields& fields)>& read)
{
    const Value* const value = find(name, Value::Type::list);
    for (std::size_t i = 0; value != nullptr && i < value->items.size(); ++i) {
        Fields fields(value->items[i], base::format("{}[{}]", place(name), i), faults_);
        read(fields);
    }
}

} // namespace gpucontainer::cdi
