// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// The values of an option by their names, in the order in which --help has them.
template <typename Value>
using Names = std::vector<std::pair<const char*, Value>>;

/// Has an option take one of these words, and nothing else.
void take_one_of(CLI::Option& option, const std::vector<std::string>& words);

/// Adds an option that sets `value` to what a name stands for.
template <typename Value>
void add_choice(CLI::App& command, const std::string& option, const Names<Value>& names,
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

/// Adds an option that takes a decimal number within the bounds, and nothing else.
CLI::Option* add_number(CLI::App& command, const std::string& option, Bounds bounds,
                        std::optional<int>& value, const std::string& help);

enum class Format : int { text, json };
void add_format_option(CLI::App& command, Format& format);

/// Has all flags of a command take "true" and "false", as settings give them, and the
/// usual other words for these; and all paths not be empty, as that of a variable in a
/// script may be.
void check_values(CLI::App& command);

} // namespace gpuctr_cli
