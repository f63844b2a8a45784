// SPDX-License-Identifier: MIT
#include "loading/install_command.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::loading {
namespace {

/// What a shell would take for more than words.
constexpr std::string_view of_shells = "|&$`<>(){}[]'\"\\*?#!~\n";
constexpr std::array<std::string_view, 3> programs = {"modprobe", "/sbin/modprobe",
                                                      "/usr/sbin/modprobe"};
constexpr std::array<std::string_view, 2> ignoring = {"-i", "--ignore-install"};
constexpr std::array<std::string_view, 2> without_effect = {"-q", "--quiet"};

template <typename Words>
bool has(const Words& words, std::string_view word)
{
    return std::ranges::find(words, word) != words.end();
}

std::optional<ModprobeCall> parse_call(std::string_view text)
{
    if (text.find_first_of(of_shells) != std::string_view::npos)
        return std::nullopt;
    std::string spaced(text);
    std::ranges::replace(spaced, '\t', ' ');
    std::vector<std::string_view> words = base::split(spaced, ' ');
    std::erase(words, "");
    if (words.empty() || !has(programs, words.front()))
        return std::nullopt;
    ModprobeCall call;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!call.module.empty())
            call.options.append(call.options.empty() ? "" : " ").append(word);
        else if (has(ignoring, word))
            call.ignores_command = true;
        else if (!word.starts_with('-'))
            call.module = word;
        else if (!has(without_effect, word))
            return std::nullopt;
    }
    return call.module.empty() ? std::nullopt : std::optional(std::move(call));
}

} // namespace

std::optional<std::vector<ModprobeCall>> parse_install_command(std::string_view command)
{
    constexpr std::string_view both = "&&";
    std::string text(command);
    for (auto at = text.find(both); at != std::string::npos; at = text.find(both, at))
        text.replace(at, both.size(), ";");
    std::vector<ModprobeCall> calls;
    for (const std::string_view part : base::split(text, ';')) {
        if (base::trim(part).empty())
            continue;
        auto call = parse_call(part);
        if (!call)
            return std::nullopt;
        calls.push_back(*std::move(call));
    }
    return calls.empty() ? std::nullopt : std::optional(std::move(calls));
}

} // namespace gpucontainer::loading
