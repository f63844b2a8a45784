// SPDX-License-Identifier: MIT
#include "record/fields.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <climits>

namespace gpucontainer::record {

const char* is_text(std::string_view text)
{
    constexpr std::size_t longest = 64U << 10U;
    if (text.size() > longest)
        return "too long";
    return text.find('\0') == std::string_view::npos ? nullptr : "with a NUL in it";
}

const char* is_line(std::string_view text)
{
    if (std::ranges::any_of(text, base::is_control))
        return "with a control character in it";
    return is_text(text);
}

const char* is_name(std::string_view text)
{
    const bool fits = !text.empty() && text.size() <= NAME_MAX && text != "." && text != ".."
                      && text.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
    return fits ? nullptr : "not the name of a file";
}

const char* is_path(std::string_view text)
{
    constexpr const char* problem = "not an absolute path without . and ..";
    if (!text.starts_with('/') || text.size() >= PATH_MAX)
        return problem;
    if (text == "/")
        return nullptr;
    const auto names = base::split(text.substr(1), '/');
    const bool fits =
        std::ranges::all_of(names, [](auto name) { return is_name(name) == nullptr; });
    return fits ? is_line(text) : problem;
}

const char* is_version(std::string_view text)
{
    // The release of a kernel is a version too: "6.8.0-45-generic".
    const std::string lower = base::to_lower(text);
    const bool fits = !text.empty() && text.size() <= NAME_MAX
                      && lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_+~")
                             == std::string::npos;
    return fits ? nullptr : "not a version";
}

const char* is_word(std::string_view text)
{
    const std::string lower = base::to_lower(text);
    const bool fits = !text.empty() && text.size() <= NAME_MAX
                      && lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-:./")
                             == std::string::npos;
    return fits ? nullptr : "not one word";
}

Fields::Fields(const Json& object, std::string where, Problem& problem)
    : object_(object), where_(std::move(where)), problem_(problem)
{
}

void Fields::complain(const char* name, const std::string& what) const
{
    if (problem_)
        return;
    const std::string place = where_.empty() ? name : base::format("{}.{}", where_, name);
    problem_ = Error(Errc::usage, base::format("{}: {}", place, what)).with_object(place);
}

const Fields::Json& Fields::field(const char* name) const
{
    if (!object_.is_object()) {
        complain(name, "not in an object");
        return null_;
    }
    const auto found = object_.find(name);
    if (found == object_.end()) {
        complain(name, "missing");
        return null_;
    }
    return *found;
}

bool Fields::has(const char* name) const { return object_.is_object() && object_.contains(name); }

std::string Fields::checked(const Json& value, const char* name, Check check) const
{
    if (!value.is_string()) {
        complain(name, "not a text");
        return "";
    }
    const auto& text = value.get_ref<const std::string&>();
    if (const char* const problem = check(text))
        complain(name, problem);
    return text;
}

std::string Fields::text(const char* name, Check check) const
{
    return checked(field(name), name, check);
}

std::string Fields::text_or_null(const char* name, Check check) const
{
    const Json& value = field(name);
    return value.is_null() ? "" : checked(value, name, check);
}

std::vector<std::string> Fields::texts(const char* name, std::size_t most, Check check) const
{
    std::vector<std::string> texts;
    for (const Json& element : array(name, most))
        texts.push_back(checked(element, name, check));
    return texts;
}

std::vector<std::uint32_t> Fields::numbers(const char* name, std::size_t most) const
{
    std::vector<std::uint32_t> numbers;
    for (const Json& element : array(name, most)) {
        if (!element.is_number_unsigned() || element.get<std::uint64_t>() > most)
            complain(name, base::format("not numbers from 0 to {}", most));
        else
            numbers.push_back(element.get<std::uint32_t>());
    }
    return numbers;
}

std::uint32_t Fields::number(const char* name, std::uint32_t most) const
{
    const Json& value = field(name);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most)
        return value.get<std::uint32_t>();
    complain(name, base::format("not a number from 0 to {}", most));
    return 0;
}

int Fields::number_or_null(const char* name, int most) const
{
    if (field(name).is_null())
        return -1;
    return static_cast<int>(number(name, static_cast<std::uint32_t>(most)));
}

bool Fields::flag(const char* name) const
{
    const Json& value = field(name);
    if (!value.is_boolean())
        complain(name, "neither true nor false");
    return value.is_boolean() && value.get<bool>();
}

const Fields::Json& Fields::array(const char* name, std::size_t most) const
{
    const Json& value = field(name);
    if (value.is_array() && value.size() <= most)
        return value;
    complain(name, value.is_array() ? base::format("more than {} elements", most) : "not a list");
    return null_; // it has no elements
}

std::string Fields::element_name(const char* name, std::size_t index) const
{
    return base::format("{}{}{}[{}]", where_, where_.empty() ? "" : ".", name, index);
}

} // namespace gpucontainer::record
