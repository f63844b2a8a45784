// SPDX-License-Identifier: MIT
#include "capture/forms.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <string>
#include <utility>

namespace gpucontainer::capture {
namespace {

constexpr std::string_view uuid_pattern = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
/// In the names of Kubernetes' control groups.
constexpr std::string_view pod_pattern = "hhhhhhhh_hhhh_hhhh_hhhh_hhhhhhhhhhhh";
constexpr std::size_t plain_uuid_size = 32;
constexpr std::string_view container_pattern =
    "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
constexpr std::size_t fewest_octets = 6;
constexpr std::size_t octet_size = 3; // with its ':'
constexpr std::size_t longest_address = 45;

constexpr std::array home_directories = {std::string_view("/home/"), std::string_view("/Users/"),
                                         std::string_view("/users/")};
/// Only where a path begins: "/usr/share/terminfo/u/" is something else.
constexpr std::string_view short_home_directory = "/u/";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_of_name(char c) { return is_of_word(c) || c == '-' || c == '.'; }

/// The characters from this place on for which it is so.
std::string_view run_at(std::string_view text, std::size_t at, const auto& is_so)
{
    const auto* const end = std::find_if_not(text.begin() + at, text.end(), is_so);
    return text.substr(at, static_cast<std::size_t>(end - text.begin()) - at);
}

/// The character after this part of the text; '\0' at its end.
char after(std::string_view text, std::size_t end) { return end < text.size() ? text[end] : '\0'; }
char before(std::string_view text, std::size_t at) { return at > 0 ? text[at - 1] : '\0'; }

/// Kubernetes writes "pod" before the UUID of one.
bool follows_pod(std::string_view text, std::size_t at)
{
    return text.substr(0, at).ends_with("pod");
}

/// Whether the text has this pattern at `at`, in which "h" stands for a hexadecimal digit, and no
/// such digit before and after it.
bool has_at(std::string_view text, std::size_t at, std::string_view pattern)
{
    if (text.size() - at < pattern.size() || (is_hex(before(text, at)) && !follows_pod(text, at)))
        return false;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (pattern[i] == 'h' ? !is_hex(text[at + i]) : text[at + i] != pattern[i])
            return false;
    return !is_hex(after(text, at + pattern.size()));
}

/// 32 digits that are a word. Names of libraries have such digests too: these are also replaced.
bool has_plain_uuid_at(std::string_view text, std::size_t at)
{
    return (!is_of_word(before(text, at)) || follows_pod(text, at))
           && text.size() - at >= plain_uuid_size
           && std::ranges::all_of(text.substr(at, plain_uuid_size), is_hex)
           && !is_of_word(after(text, at + plain_uuid_size));
}

/// Whether "hh:" is before this place, so that what is there is the rest of something.
bool follows_octet(std::string_view text, std::size_t at)
{
    return at >= octet_size && text[at - 1] == ':' && is_hex(text[at - 2]) && is_hex(text[at - 3])
           && !is_of_word(before(text, at - octet_size));
}

std::string_view octets_at(std::string_view text, std::size_t at)
{
    const char last = before(text, at);
    if ((is_of_word(last) && last != '_') || follows_octet(text, at))
        return {};
    std::size_t end = at;
    std::size_t count = 0;
    while (is_hex(after(text, end)) && is_hex(after(text, end + 1))) {
        ++count;
        end += 2;
        if (after(text, end) != ':' || !is_hex(after(text, end + 1)))
            break;
        ++end;
    }
    const bool is_whole =
        count >= fewest_octets && !is_hex(after(text, end)) && is_hex(text[end - 1]);
    return is_whole ? text.substr(at, end - at) : std::string_view();
}

/// Whether it stands for nothing or for all.
bool is_special(std::string_view id)
{
    const auto has_only = [&](std::string_view letters) {
        return std::ranges::all_of(
            id, [&](char c) { return !is_hex(c) || letters.find(c) != std::string_view::npos; });
    };
    return has_only("0") || has_only("fF");
}

Identifier any_id_at(std::string_view text, std::size_t at)
{
    for (const auto pattern : {uuid_pattern, pod_pattern})
        if (has_at(text, at, pattern))
            return {Form::uuid, text.substr(at, pattern.size())};
    if (has_at(text, at, container_pattern))
        return {Form::container, text.substr(at, container_pattern.size())};
    if (has_plain_uuid_at(text, at))
        return {Form::plain_uuid, text.substr(at, plain_uuid_size)};
    if (const std::string_view octets = octets_at(text, at); !octets.empty())
        return {Form::octets, octets};
    return {};
}

/// In a path, it is the name of a directory, and may be a version.
bool can_have_address_at(std::string_view text, std::size_t at)
{
    const char last = before(text, at);
    return last == '/' ? before(text, at - 1) == '/' : !is_of_name(last);
}

/// Whether this part of the text is an address, and not the beginning of something longer.
bool is_address(int family, std::string_view text, std::size_t at, std::string_view part)
{
    in6_addr address = {}; // has room for both
    return part.size() <= longest_address && !is_of_word(after(text, at + part.size()))
           && ::inet_pton(family, std::string(part).c_str(), &address) == 1;
}

std::string_view ip4_at(std::string_view text, std::size_t at)
{
    std::string_view run = run_at(text, at, [](char c) { return is_digit(c) || c == '.'; });
    if (run.ends_with('.')) // of a sentence
        run.remove_suffix(1);
    const bool is_of_host = run == "0.0.0.0" || run.starts_with("127.");
    return !is_of_host && is_address(AF_INET, text, at, run) ? run : std::string_view();
}

std::string_view ip6_at(std::string_view text, std::size_t at)
{
    if (before(text, at) == ':')
        return {};
    std::string_view run =
        run_at(text, at, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
    if (run.ends_with("::")) // "0::" begins the line of a control group
        return {};
    if (run.ends_with(':') || run.ends_with('.'))
        run.remove_suffix(1);
    return run != "::1" && is_address(AF_INET6, text, at, run) ? run : std::string_view();
}

} // namespace

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_of_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

Identifier id_at(std::string_view text, std::size_t at)
{
    if (!is_hex(text[at]))
        return {};
    const Identifier found = any_id_at(text, at);
    return is_special(found.text) ? Identifier() : found;
}

Identifier address_at(std::string_view text, std::size_t at)
{
    if ((!is_hex(text[at]) && text[at] != ':') || !can_have_address_at(text, at))
        return {};
    if (const std::string_view found = ip4_at(text, at); !found.empty())
        return {Form::ip4_address, found};
    if (const std::string_view found = ip6_at(text, at); !found.empty())
        return {Form::ip6_address, found};
    return {};
}

Identifier group_number_at(std::string_view text, std::size_t at)
{
    constexpr std::array prefixes = {
        std::pair{std::string_view("/uid_"), Form::user_number},
        std::pair{std::string_view("/user-"), Form::user_number},
        std::pair{std::string_view("/user@"), Form::user_number},
        std::pair{std::string_view("/job_"), Form::job_number},
    };
    if (!is_digit(text[at]))
        return {};
    const std::string_view number = run_at(text, at, is_digit);
    for (const auto& [prefix, form] : prefixes)
        if (text.substr(0, at).ends_with(prefix) && number != "0"
            && !is_of_word(after(text, at + number.size())))
            return {form, number};
    return {};
}

bool is_uuid(std::string_view text)
{
    return text.size() == uuid_pattern.size() && has_at(text, 0, uuid_pattern);
}

std::string_view uuid_beginning_at(std::string_view text, std::size_t at)
{
    constexpr std::size_t size = 4; // of "GPU-"
    const std::string_view until = text.substr(0, at);
    if ((!until.ends_with("GPU-") && !until.ends_with("MIG-"))
        || is_of_word(before(text, at - size)))
        return {};
    const std::string_view run = run_at(text, at, [](char c) { return is_hex(c) || c == '-'; });
    if (run.size() >= uuid_pattern.size() || is_of_word(after(text, at + run.size())))
        return {};
    for (std::size_t i = 0; i < run.size(); ++i)
        if ((uuid_pattern[i] == '-') != (run[i] == '-'))
            return {};
    return run;
}

std::string_view user_at(std::string_view text, std::size_t at, std::size_t& start)
{
    if (text[at] != '/')
        return {};
    const std::string_view rest = text.substr(at);
    const auto* const home = std::ranges::find_if(
        home_directories, [&](std::string_view directory) { return rest.starts_with(directory); });
    if (home != home_directories.end())
        start = home->size();
    else if (rest.starts_with(short_home_directory) && !is_of_name(before(text, at)))
        start = short_home_directory.size();
    else
        return {};
    return run_at(rest, start, [](char c) { return is_of_name(c) || c == '@'; });
}

std::string_view host_at(std::string_view text, std::size_t at, std::string_view domain)
{
    if (!is_of_word(text[at]) || is_of_name(before(text, at)))
        return {};
    const std::string_view run = run_at(text, at, is_of_name);
    const bool is_in_domain = run.size() > domain.size() + 1
                              && run[run.size() - domain.size() - 1] == '.'
                              && base::to_lower(run.substr(run.size() - domain.size())) == domain;
    return is_in_domain ? run : std::string_view();
}

} // namespace gpucontainer::capture
