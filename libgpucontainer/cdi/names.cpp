// SPDX-License-Identifier: MIT
#include "cdi/names.hpp"

#include "base/text.hpp"

#include "base/format.hpp"

#include <algorithm>

namespace gpucontainer::cdi {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

/// A word of letters, digits and `between`, which begins with a letter and ends with a letter or
/// digit.
std::string fault_in_word(std::string_view word, std::string_view what, std::string_view between,
                          bool may_begin_with_digit)
{
    if (word.empty())
        return base::format("the {} is empty", what);
    const char first = word.front();
    if (!(may_begin_with_digit ? is_letter_or_digit(first) : is_letter(first)))
        return base::format("the {} does not begin with a letter{}", what,
                            may_begin_with_digit ? " or digit" : "");
    if (!is_letter_or_digit(word.back()))
        return base::format("the {} does not end with a letter or digit", what);
    const auto is_allowed = [&](char c) {
        return is_letter_or_digit(c) || between.find(c) != std::string_view::npos;
    };
    if (!std::ranges::all_of(word, is_allowed))
        return base::format("the {} has a character that is no letter, no digit and none of {}",
                            what, between);
    return "";
}

} // namespace

std::string fault_in_kind(std::string_view kind)
{
    const auto slash = kind.find('/');
    if (slash == std::string_view::npos)
        return "not VENDOR/CLASS";
    constexpr std::string_view between = "_-.";
    std::string fault = fault_in_word(kind.substr(0, slash), "vendor", between, false);
    return fault.empty() ? fault_in_word(kind.substr(slash + 1), "class", between, false) : fault;
}

std::string fault_in_device_name(std::string_view name)
{
    return fault_in_word(name, "name", "_-.:", true);
}

std::string fault_in_variable(std::string_view text)
{
    const auto equals = text.find('=');
    if (equals == std::string_view::npos)
        return "not NAME=VALUE";
    return equals == 0 ? "it has no name" : "";
}

bool has_dotted_class(std::string_view kind)
{
    const auto slash = kind.find('/');
    return slash != std::string_view::npos && kind.find('.', slash) != std::string_view::npos;
}

bool begins_with_digit(std::string_view name) { return !name.empty() && is_digit(name.front()); }

std::string file_name_of(std::string_view kind)
{
    std::string name(kind);
    std::ranges::replace(name, '/', '-');
    return name;
}

std::optional<std::string> plain_path(std::string_view path)
{
    if (!path.starts_with('/') || path.find('\0') != std::string_view::npos)
        return std::nullopt;
    std::string plain;
    for (const std::string_view name : base::split(path, '/')) {
        if (name == "..")
            return std::nullopt;
        if (!name.empty() && name != ".")
            plain += base::format("/{}", name);
    }
    return plain.empty() ? "/" : plain;
}

} // namespace gpucontainer::cdi
