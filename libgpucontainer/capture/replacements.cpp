// SPDX-License-Identifier: MIT
#include "capture/replacements.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t shortest_name = 3;
constexpr std::array common_names = {"root",  "localhost", "localdomain", "host",   "user",
                                     "linux", "debian",    "ubuntu",      "fedora", "node"};
constexpr std::array home_directories = {std::string_view("/home/"), std::string_view("/Users/")};

bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_of_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Whether an id can begin there: what is before is no digit of it. Kubernetes writes "pod" before
/// the UUID of one.
bool can_begin_at(std::string_view text, std::size_t at)
{
    const std::string_view before = text.substr(0, at);
    return before.empty() || !is_hex(before.back()) || before.ends_with("pod");
}

/// Whether the text has this pattern at `at`, in which "h" stands for a hexadecimal digit, and no
/// such digit before and after it.
bool has_at(std::string_view text, std::size_t at, std::string_view pattern)
{
    if (text.size() - at < pattern.size() || !can_begin_at(text, at))
        return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == 'h' ? !is_hex(text[at + i]) : text[at + i] != pattern[i])
            return false;
    const std::size_t end = at + pattern.size();
    return end == text.size() || !is_hex(text[end]);
}

constexpr std::string_view uuid_pattern = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
/// In the names of Kubernetes' control groups.
constexpr std::string_view pod_pattern = "hhhhhhhh_hhhh_hhhh_hhhh_hhhhhhhhhhhh";
constexpr std::string_view mac_pattern = "hh:hh:hh:hh:hh:hh";
/// As engines give it to containers: 64 digits.
constexpr std::string_view container_pattern =
    "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";

/// What identifies something there by its form alone; "" if nothing does.
std::string_view id_at(std::string_view text, std::size_t at)
{
    for (const auto pattern : {uuid_pattern, pod_pattern, mac_pattern, container_pattern})
        if (has_at(text, at, pattern))
            return text.substr(at, pattern.size());
    return {};
}

/// The number in the form of `like`: its letters and digits are replaced from the right.
std::string in_form(std::size_t number, std::string_view like)
{
    std::string text(like);
    const std::size_t start = like.starts_with("0x") ? 2 : 0;
    for (std::size_t at = text.size(); at > start; --at)
        if (char& c = text[at - 1]; is_of_word(c)) {
            c = static_cast<char>('0' + number % 10);
            number /= 10;
        }
    return text;
}

/// The name of a user at the beginning of a text that follows "/home/".
std::string_view user_in(std::string_view text)
{
    std::size_t length = 0;
    while (length < text.size()
           && (is_of_word(text[length]) || text[length] == '-' || text[length] == '.'
               || text[length] == '@'))
        ++length;
    return text.substr(0, length);
}

} // namespace

const std::string& Replacements::replacement(Kind kind, std::string_view value,
                                             std::string_view like)
{
    const auto known = known_.find(value);
    if (known != known_.end())
        return known->second;
    const std::size_t number = ++counts_[kind];
    std::string made;
    switch (kind) {
    case Kind::uuid: // a prefix of eight digits still tells them apart
        made = base::format("{:08}-0000-4000-8000-000000000000", number % 100'000'000);
        break;
    case Kind::mac:
        made = "02:" + in_form(number, "00:00:00:00:00"); // a local address
        break;
    case Kind::serial:
    case Kind::container:
        made = in_form(number, like);
        break;
    case Kind::host:
        made = number == 1 ? "host" : base::format("host{}", number);
        break;
    case Kind::user:
        made = base::format("user{}", number);
        break;
    }
    return known_.emplace(value, std::move(made)).first->second;
}

std::string Replacements::serial(std::string_view value)
{
    const std::string_view trimmed = base::trim(value);
    if (keep_ || trimmed.empty() || trimmed.find_first_not_of("0x-") == std::string_view::npos)
        return std::string(value);
    if (has_at(trimmed, 0, uuid_pattern) && trimmed.size() == uuid_pattern.size())
        return in(value);
    const std::string& made = replacement(Kind::serial, trimmed, trimmed);
    words_.emplace(trimmed, made);
    std::string text(value);
    return text.replace(text.find(trimmed), trimmed.size(), made);
}

std::string Replacements::number(std::string_view decimal)
{
    const auto value = base::to_number(decimal);
    if (keep_ || !value || *value == 0)
        return std::string(decimal);
    const std::string hex = serial(base::format("{:016x}", *value));
    return base::format("{}", base::to_number(hex, 16).value_or(0));
}

void Replacements::add_word(std::string_view word, std::string_view replacement)
{
    if (keep_ || word.size() < shortest_name
        || std::ranges::find(common_names, word) != common_names.end()
        || word.find_first_not_of("0123456789") == std::string_view::npos)
        return;
    words_.emplace(word, replacement);
}

void Replacements::add_host_name(std::string_view name)
{
    if (keep_ || name.size() < shortest_name
        || std::ranges::find(common_names, name) != common_names.end())
        return;
    add_word(name, replacement(Kind::host, name, ""));
    const std::string_view first = name.substr(0, name.find('.'));
    add_word(first, replacement(Kind::host, name, ""));
}

void Replacements::add_user_name(std::string_view name)
{
    if (keep_ || name.size() < shortest_name
        || std::ranges::find(common_names, name) != common_names.end())
        return;
    add_word(name, replacement(Kind::user, name, ""));
}

std::string Replacements::in(std::string_view text)
{
    return keep_ ? std::string(text) : without_words(without_patterns(text));
}

std::string Replacements::id_replacement(std::string_view id)
{
    std::string value = base::to_lower(id);
    if (id.size() == mac_pattern.size())
        return replacement(Kind::mac, value, "");
    if (id.size() == container_pattern.size())
        return replacement(Kind::container, value, std::string(id.size(), '0'));
    std::ranges::replace(value, '_', '-');
    std::string made = replacement(Kind::uuid, value, "");
    if (id.find('_') != std::string_view::npos)
        std::ranges::replace(made, '-', '_');
    return made;
}

std::string Replacements::without_patterns(std::string_view text)
{
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (const std::string_view id = id_at(text, at); !id.empty()) {
            result += id_replacement(id);
            at += id.size();
            continue;
        }
        const auto home = std::ranges::find_if(home_directories, [&](std::string_view directory) {
            return text.substr(at).starts_with(directory);
        });
        if (home != home_directories.end()) {
            result += *home;
            at += home->size();
            if (const std::string_view user = user_in(text.substr(at)); !user.empty()) {
                result += replacement(Kind::user, user, "");
                at += user.size();
            }
            continue;
        }
        result += text[at++];
    }
    return result;
}

namespace {

using Word = std::pair<const std::string, std::string>;
using WordsByFirst = std::map<char, std::vector<const Word*>>;

/// The longest word that begins there and is followed by something else; null if there is none.
const Word* word_at(std::string_view text, std::size_t at, const WordsByFirst& by_first)
{
    if (at != 0 && is_of_word(text[at - 1]))
        return nullptr;
    const auto words = by_first.find(text[at]);
    if (words == by_first.end())
        return nullptr;
    const Word* found = nullptr;
    for (const Word* word : words->second) {
        const std::size_t end = at + word->first.size();
        if (text.substr(at).starts_with(word->first)
            && (end == text.size() || !is_of_word(text[end]))
            && (found == nullptr || word->first.size() > found->first.size()))
            found = word;
    }
    return found;
}

} // namespace

std::string Replacements::without_words(std::string_view text) const
{
    if (words_.empty())
        return std::string(text);
    WordsByFirst by_first;
    for (const Word& word : words_)
        by_first[word.first.front()].push_back(&word);
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Word* const found = word_at(text, at, by_first);
        if (found != nullptr) {
            result += found->second;
            at += found->first.size();
        } else {
            result += text[at++];
        }
    }
    return result;
}

std::vector<std::string> Replacements::summary() const
{
    constexpr std::array names = {
        std::pair{Kind::uuid, std::pair{"UUID", "UUIDs"}},
        std::pair{Kind::mac, std::pair{"MAC address", "MAC addresses"}},
        std::pair{Kind::serial, std::pair{"serial number", "serial numbers"}},
        std::pair{Kind::container, std::pair{"container id", "container ids"}},
        std::pair{Kind::host, std::pair{"name of this host", "names of this host"}},
        std::pair{Kind::user, std::pair{"name of a user", "names of users"}},
    };
    std::vector<std::string> all;
    for (const auto& [kind, words] : names)
        if (const auto count = counts_.find(kind); count != counts_.end())
            all.push_back(base::format("{} {}", count->second,
                                       count->second == 1 ? words.first : words.second));
    return all;
}

} // namespace gpucontainer::capture
