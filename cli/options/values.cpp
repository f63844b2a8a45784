// SPDX-License-Identifier: MIT
#include "options/values.hpp"

#include "options/groups.hpp"
#include "output/format.hpp"
#include "settings/similar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuctr_cli {
namespace {

std::optional<int> number_in(const std::string& text, Bounds bounds)
{
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end || number < bounds.least || number > bounds.most)
        return std::nullopt;
    return number;
}

bool is_truth(const std::string& word)
{
    constexpr std::array words = {"true", "false", "yes", "no", "on", "off", "1", "0"};
    return std::find(words.begin(), words.end(), word) != words.end();
}

} // namespace

void take_one_of(CLI::Option& option, const std::vector<std::string>& words)
{
    option.type_name(formatted("{}", fmt::join(words, "|")));
    option.check([words](const std::string& word) {
        if (std::find(words.begin(), words.end(), word) != words.end())
            return std::string();
        return with_suggestion(formatted("'{}' is none of {}", word, fmt::join(words, ", ")),
                               meant(word, words));
    });
}

CLI::Option* add_number(CLI::App& command, const std::string& option, Bounds bounds,
                        std::optional<int>& value, const std::string& help)
{
    const auto set = [&value, bounds](const std::string& text) { value = number_in(text, bounds); };
    return command.add_option_function<std::string>(option, set, help)
        ->check([bounds](const std::string& text) {
            if (number_in(text, bounds))
                return std::string();
            return formatted("'{}' is not a number from {} to {}", text, bounds.least, bounds.most);
        });
}

void add_format_option(CLI::App& command, Format& format, OtherFormats* others)
{
    command.option_defaults()->group(what_is_printed);
    std::vector<std::string> words = {"text", "json"};
    if (others != nullptr)
        words.insert(words.end(), others->names.begin(), others->names.end());
    const auto choose = [&format, others](const std::string& word) {
        format = word == "text" ? Format::text : word == "json" ? Format::json : Format::other;
        if (others != nullptr && format == Format::other)
            others->chosen = word;
    };
    CLI::Option* const option = command.add_option_function<std::string>("--format", choose);
    take_one_of(*option->default_str("text"), words);
    option->description("form of what is printed, and of errors");
    if (others != nullptr) {
        const std::string last = words.back();
        words.pop_back();
        // Completions take the words from here.
        option->type_name("FORMAT")->description(
            formatted("form of what is printed (with json, of errors too): {}, or {}",
                      fmt::join(words, ", "), last));
    }
    command
        .add_flag_callback(
            "--json", [&format] { format = Format::json; }, "short for --format json")
        ->excludes(command.get_option("--format"));
}

std::string check_absolute(const std::string& path)
{
    return path.starts_with('/') ? "" : formatted("'{}' is not an absolute path", path);
}

void check_values(CLI::App& command)
{
    for (CLI::Option* const option : command.get_options()) {
        const std::string type = option->get_type_name();
        // CLI11 would add the words after a list to it; they may be a command.
        option->allow_extra_args(option->get_positional());
        if (option->get_items_expected_max() == 0)
            option->check([](const std::string& word) {
                return is_truth(word) ? "" : formatted("'{}' is neither true nor false", word);
            });
        else if (type == "DIR" || type == "FILE")
            option->check([type](const std::string& path) {
                return path.empty() ? formatted("{} is empty", type) : "";
            });
    }
}

} // namespace gpuctr_cli
