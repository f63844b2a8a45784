// SPDX-License-Identifier: MIT
#include "config/policy_key.hpp"

#include "base/similar.hpp"
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

} // namespace

std::string_view meant_policy_key(std::string_view key)
{
    const std::string text = folded(key);
    for (int slips = 0; slips <= most_slips; ++slips)
        for (const std::string_view word : policy_keys)
            if (base::is_like(text, word, slips))
                return word;
    return text.starts_with(beginning) ? policy_keys.front() : std::string_view();
}

} // namespace gpucontainer::config
