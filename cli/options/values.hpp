// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// The values of an option and their names, in the order of --help.
template <typename Value>
using NamedValues = std::vector<std::pair<const char*, Value>>;

/// Makes an option take only one of these words.
void take_one_of(CLI::Option& option, const std::vector<std::string>& words);

/// Adds an option that takes one of the names and sets `value` accordingly.
template <typename Value>
void add_choice(CLI::App& command, const std::string& option, const NamedValues<Value>& names,
                Value& value, const std::string& help)
{
    std::vector<std::string> words;
    for (const auto& [name, of_name] : names)
        words.emplace_back(name);
    std::string standard;
    for (const auto& [name, of_name] : names)
        if (of_name == value)
            standard = name;
    const auto choose = [&value, names](const std::string& word) {
        for (const auto& [name, of_name] : names)
            if (word == name)
                value = of_name;
    };
    take_one_of(
        *command.add_option_function<std::string>(option, choose, help)->default_str(standard),
        words);
}

struct Bounds {
    int least;
    int most;
};

/// Adds an option that takes only a decimal number within the bounds.
CLI::Option* add_number(CLI::App& command, const std::string& option, Bounds bounds,
                        std::optional<int>& value, const std::string& help);

enum class Format : int { text, json, other };
/// Forms of what a command prints besides text and JSON.
struct OtherFormats {
    std::vector<std::string> names;
    std::string chosen; ///< One of them, with Format::other.
};
/// Adds --format, and --json as its short form.
void add_format_option(CLI::App& command, Format& format, OtherFormats* others = nullptr);

/// Says what is wrong with a path that means another file in another call; "" if nothing is.
std::string check_absolute(const std::string& path);

/// Makes all flags of a command take "true", "false" and their usual synonyms, because settings
/// have values. Refuses empty paths, which a script with an unset variable would pass.
void check_values(CLI::App& command);

} // namespace gpuctr_cli
