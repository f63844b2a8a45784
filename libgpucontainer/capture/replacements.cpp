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
constexpr std::string_view ip6_form = "::";
constexpr std::size_t shortest_beginning = 8; // of replacements of UUIDs: tells them apart

bool is_common(std::string_view name)
{
    return name.size() < shortest_name
           || std::ranges::find(common_names, base::to_lower(name)) != common_names.end();
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

std::string_view common_beginning(std::string_view one, std::string_view other)
{
    const auto [end, unused] = std::ranges::mismatch(one, other);
    return one.substr(0, static_cast<std::size_t>(end - one.begin()));
}

} // namespace

const std::string& Replacements::replacement(Kind kind, std::string_view value,
                                             std::string_view like)
{
    std::string key = base::to_lower(value);
    const auto known = known_.find(key);
    if (known != known_.end())
        return known->second;
    const std::size_t number = ++counts_[kind];
    std::string made;
    switch (kind) {
    case Kind::uuid: // a prefix of eight digits still tells them apart
        made = base::format("{:08}-0000-4000-8000-000000000000", number % 100'000'000);
        break;
    case Kind::mac:
        made = in_form(number, like).replace(0, 2, "02"); // a local address
        break;
    case Kind::serial:
    case Kind::container:
        made = in_form(number, like);
        break;
    case Kind::host:
        made = number == 1 ? "host" : base::format("host{}", number);
        break;
    case Kind::domain:
        made = number == 1 ? "domain" : base::format("domain{}", number);
        break;
    case Kind::user:
        made = base::format("user{}", number);
        break;
    case Kind::ip_address:
        made = like == ip6_form
                   ? base::format("2001:db8::{:x}", number % 0x10000) // of documentation
                   : base::format("198.18.{}.{}", number / 256 % 256, number % 256); // of tests
        break;
    case Kind::user_number:
    case Kind::job_number:
        made = base::format("{}", number);
        break;
    }
    return known_.emplace(std::move(key), std::move(made)).first->second;
}

std::string Replacements::serial(std::string_view value)
{
    const std::string_view trimmed = base::trim(value);
    if (keep_ || trimmed.empty() || trimmed.find_first_not_of("0x-") == std::string_view::npos)
        return std::string(value);
    if (is_uuid(trimmed))
        return in(value);
    const std::string& made = replacement(Kind::serial, trimmed, trimmed);
    words_.emplace(base::to_lower(trimmed), made);
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
    if (!is_common(word) && word.find_first_not_of("0123456789") != std::string_view::npos)
        words_.emplace(base::to_lower(word), replacement);
}

void Replacements::add_host_name(std::string_view name)
{
    if (keep_ || is_common(name))
        return;
    const auto point = name.find('.');
    add_word(name, replacement(Kind::host, name, ""));
    add_word(name.substr(0, point), replacement(Kind::host, name, ""));
    if (point != std::string_view::npos)
        add_domain(name.substr(point + 1));
}

void Replacements::add_domain(std::string_view name)
{
    if (keep_ || name.find('.') == std::string_view::npos) // "local" is a word of many texts
        return;
    add_word(name, replacement(Kind::domain, name, ""));
    domains_.push_back(base::to_lower(name));
}

void Replacements::add_user_name(std::string_view name)
{
    if (!keep_ && !is_common(name))
        add_word(name, replacement(Kind::user, name, ""));
}

std::string Replacements::in(std::string_view text, Text kind)
{
    return keep_ ? std::string(text) : without_words(without_patterns(text, kind));
}

/// With the same letters between its digits.
std::string Replacements::uuid_like(std::string_view value)
{
    std::string dashed = base::to_lower(value);
    std::ranges::replace(dashed, '_', '-');
    if (dashed.find('-') == std::string::npos)
        for (const std::size_t at : {8U, 13U, 18U, 23U})
            dashed.insert(at, 1, '-');
    std::string made = replacement(Kind::uuid, dashed, "");
    if (value.find('_') != std::string_view::npos)
        std::ranges::replace(made, '-', '_');
    else if (value.find('-') == std::string_view::npos)
        std::erase(made, '-');
    return made;
}

/// The beginning of the replacement that tells as much: it is as ambiguous as the value.
std::string Replacements::uuid_beginning(std::string_view value)
{
    const std::string lower = base::to_lower(value);
    const std::size_t size = std::max(lower.size(), shortest_beginning);
    std::string_view found;
    for (auto known = known_.lower_bound(lower);
         known != known_.end() && known->first.starts_with(lower); ++known)
        if (is_uuid(known->first))
            found = found.empty() ? std::string_view(known->second)
                                  : common_beginning(found, known->second);
    if (found.empty() && lower.size() < shortest_beginning)
        return std::string(value);
    return std::string(
        (found.empty() ? replacement(Kind::uuid, lower, "") : found).substr(0, size));
}

std::string Replacements::made_for(const Identifier& id)
{
    const std::string zeros(id.text.size(), '0');
    switch (id.form) {
    case Form::none:
        break;
    case Form::uuid:
    case Form::plain_uuid:
        return uuid_like(id.text);
    case Form::octets:
        return replacement(Kind::mac, id.text, id.text);
    case Form::container:
        return replacement(Kind::container, id.text, zeros);
    case Form::ip4_address:
        return replacement(Kind::ip_address, id.text, "");
    case Form::ip6_address:
        return replacement(Kind::ip_address, id.text, ip6_form);
    case Form::user_number:
        return replacement(Kind::user_number, base::format("user {}", id.text), "");
    case Form::job_number:
        return replacement(Kind::job_number, base::format("job {}", id.text), "");
    }
    return std::string(id.text);
}

Replacements::Replaced Replacements::name_replaced_at(std::string_view text, std::size_t at)
{
    std::size_t start = 0;
    if (const std::string_view user = user_at(text, at, start); !user.empty())
        return {start + user.size(),
                base::format("{}{}", text.substr(at, start), replacement(Kind::user, user, ""))};
    for (const std::string& domain : domains_)
        if (const std::string_view host = host_at(text, at, domain); !host.empty())
            return {host.size(), replacement(Kind::host, host, "")};
    return {};
}

/// Its length is 0 if nothing is replaced there.
Replacements::Replaced Replacements::replaced_at(std::string_view text, std::size_t at, Text kind)
{
    Identifier id = id_at(text, at);
    if (id.form == Form::none && kind != Text::any)
        id = address_at(text, at);
    if (id.form == Form::none && kind == Text::groups)
        id = group_number_at(text, at);
    if (id.form != Form::none)
        return {id.text.size(), made_for(id)};
    if (const std::string_view beginning = uuid_beginning_at(text, at); !beginning.empty())
        return {beginning.size(), uuid_beginning(beginning)};
    return name_replaced_at(text, at);
}

std::string Replacements::without_patterns(std::string_view text, Text kind)
{
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (const Replaced replaced = replaced_at(text, at, kind); replaced.length != 0) {
            result += replaced.made;
            at += replaced.length;
        } else {
            result += text[at++];
        }
    }
    return result;
}

namespace {

using Word = std::pair<const std::string, std::string>;
using WordsByFirst = std::map<char, std::vector<const Word*>>;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The longest word that begins there and is followed by something else; null if there is none.
const Word* word_at(std::string_view text, std::size_t at, const WordsByFirst& by_first)
{
    if (at != 0 && is_of_word(text[at - 1]))
        return nullptr;
    const auto words = by_first.find(lower(text[at]));
    if (words == by_first.end())
        return nullptr;
    const Word* found = nullptr;
    for (const Word* word : words->second) {
        const std::size_t end = at + word->first.size();
        if (end <= text.size()
            && std::ranges::equal(text.substr(at, word->first.size()), word->first, {}, lower)
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
        std::pair{Kind::host, std::pair{"name of a host", "names of hosts"}},
        std::pair{Kind::domain, std::pair{"name of a domain", "names of domains"}},
        std::pair{Kind::user, std::pair{"name of a user", "names of users"}},
        std::pair{Kind::ip_address, std::pair{"IP address", "IP addresses"}},
        std::pair{Kind::user_number, std::pair{"number of a user", "numbers of users"}},
        std::pair{Kind::job_number, std::pair{"number of a job", "numbers of jobs"}},
    };
    std::vector<std::string> all;
    for (const auto& [kind, words] : names)
        if (const auto count = counts_.find(kind); count != counts_.end())
            all.push_back(base::format("{} {}", count->second,
                                       count->second == 1 ? words.first : words.second));
    return all;
}

} // namespace gpucontainer::capture
