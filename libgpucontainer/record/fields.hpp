// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::record {

/// Checks a text. Null if it is right, otherwise what is wrong.
using Check = const char* (*)(std::string_view text);

const char* is_text(std::string_view text);
const char* is_line(std::string_view text);    ///< Without control characters.
const char* is_name(std::string_view text);    ///< Of a file in a directory.
const char* is_path(std::string_view text);    ///< Absolute, a line, without "." and "..".
const char* is_version(std::string_view text); ///< Digits and dots.
const char* is_word(std::string_view text);    ///< ASCII letters, digits, "_-:.".

/// The fields of an object in an untrusted document. `problem` keeps the first thing that is wrong.
/// Values read after it mean nothing, so the reader checks once, at its end.
class Fields {
public:
    using Json = nlohmann::json;
    using Problem = std::optional<Error>;

    Fields(const Json& object, std::string where, Problem& problem);

    /// For fields that earlier versions did not write.
    bool has(const char* name) const;
    std::string text(const char* name, Check check) const;
    /// "" for null.
    std::string text_or_null(const char* name, Check check) const;
    std::vector<std::string> texts(const char* name, std::size_t most, Check check) const;
    std::vector<std::uint32_t> numbers(const char* name, std::size_t most) const;
    std::uint32_t number(const char* name, std::uint32_t most) const;
    /// -1 for null.
    int number_or_null(const char* name, int most) const;
    bool flag(const char* name) const;

    /// A word that `parse` knows.
    template <typename Enum>
    Enum word(const char* name, std::optional<Enum> (*parse)(std::string_view)) const
    {
        const auto value = parse(text(name, is_word));
        if (!value)
            complain(name, "an unknown word");
        return value.value_or(Enum{});
    }

    /// A list of objects, each read by `read`.
    template <typename Element>
    std::vector<Element> list(const char* name, std::size_t most,
                              Element (*read)(const Fields& fields)) const
    {
        std::vector<Element> elements;
        for (const Json& element : array(name, most))
            elements.push_back(
                read(Fields(element, element_name(name, elements.size()), problem_)));
        return elements;
    }

    /// Notes what is wrong with a field, unless a problem is noted already.
    void complain(const char* name, const std::string& what) const;

private:
    const Json& field(const char* name) const;
    const Json& array(const char* name, std::size_t most) const;
    std::string checked(const Json& value, const char* name, Check check) const;
    std::string element_name(const char* name, std::size_t index) const;

    const Json null_;
    const Json& object_;
    std::string where_;
    Problem& problem_;
};

} // namespace gpucontainer::record
