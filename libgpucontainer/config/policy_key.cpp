// SPDX-License-Identifier: MIT
#include "config/policy_key.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpucontainer::config {
namespace {

/// The first one also stands for keys that begin like it.
constexpr std::array<std::string_view, 4> policy_keys = {"restricted", "restricted-user",
                                                         "restricted-rootfs", "allowed-devices"};
constexpr std::string_view beginning = "restrict";
constexpr int most_slips = 2;

/// One character for each letter, of any alphabet.
std::string folded(std::string_view key)
{
    constexpr unsigned char continuation = 0x80;
    constexpr unsigned char kind = 0xc0;
    std::string text = base::to_lower(key);
    std::erase_if(text, [](unsigned char c) { return (c & kind) == continuation; });
    std::ranges::replace_if(
        text, [](char c) { return c == '_' || c == ' '; }, '-');
    return text;
}

/// Skips the common beginning, which has no typing errors.
bool is_like(std::string_view left, std::string_view right, int slips)
{
    const auto same = std::ranges::mismatch(left, right).in1 - left.begin();
    left.remove_prefix(static_cast<std::size_t>(same));
    right.remove_prefix(static_cast<std::size_t>(same));
    if (left.empty() || right.empty())
        return left.size() + right.size() <= static_cast<std::size_t>(slips);
    if (slips == 0)
        return false;
    const bool is_swapped =
        left.size() > 1 && right.size() > 1 && left[0] == right[1] && left[1] == right[0];
    return is_like(left.substr(1), right, slips - 1) || is_like(left, right.substr(1), slips - 1)
           || is_like(left.substr(1), right.substr(1), slips - 1)
           || (is_swapped && is_like(left.substr(2), right.substr(2), slips - 1));
}

} // namespace

std::string_view meant_policy_key(std::string_view key)
{
    const std::string text = folded(key);
    for (int slips = 0; slips <= most_slips; ++slips)
        for (const std::string_view word : policy_keys)
            if (is_like(text, word, slips))
                return word;
    return text.starts_with(beginning) ? policy_keys.front() : std::string_view();
}

} // namespace gpucontainer::config
