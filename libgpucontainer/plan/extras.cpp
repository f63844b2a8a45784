// SPDX-License-Identifier: MIT
#include "plan/extras.hpp"

#include "base/format.hpp"
#include "base/similar.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

constexpr std::string_view channel = "imex-channel:";
constexpr std::string_view all_channels = "imex-channel:all";
constexpr std::string_view no = "no-";

constexpr std::array known_words = {
    "gds", "gdrcopy", "mofed", "nvswitch", "fabric-manager", "mig-config", "mig-monitor"};
constexpr std::array given_words = {"no-persistenced", "no-mps", no_asked_channels};

bool is_channel(std::string_view word)
{
    constexpr std::uint64_t channels = 1U << 20U; // the driver's limit
    if (!word.starts_with(channel))
        return false;
    const auto number = base::to_number(word.substr(channel.size()));
    return word == all_channels || (number && *number < channels);
}

bool is_known(std::string_view word)
{
    return std::ranges::find(known_words, word) != known_words.end()
           || std::ranges::find(given_words, word) != given_words.end() || is_channel(word);
}

Error unknown_extra(std::string_view word)
{
    std::vector<std::string_view> words(known_words.begin(), known_words.end());
    words.insert(words.end(), given_words.begin(), given_words.end());
    return Error(Errc::usage, base::format("unknown extra '{}'", word))
        .with_object(std::string(word))
        .with_hint(base::suggestion(word, words)
                   + base::format("known extras are {}, imex-channel:NUMBER and imex-channel:all",
                                  base::joined(words, ", ")));
}

bool is_of(std::string_view offered, std::string_view word)
{
    return offered == word || (word == all_channels && offered.starts_with(channel));
}

Error no_extra(const std::string& word)
{
    return Error(Errc::no_device, base::format("extra {}: not on this host", word))
        .with_object(word)
        .with_hint("its device node or socket is missing; `gpuctr-setup list` shows what is there");
}

} // namespace

Result<Extras> parse_extras(std::string_view list)
{
    Extras extras;
    for (const std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        if (word.empty())
            continue;
        if (!is_known(word))
            return unknown_extra(word);
        extras.emplace(word);
    }
    return extras;
}

std::string channel_extra(std::string_view word)
{
    std::string extra = base::format("{}{}", channel, word);
    return is_channel(extra) ? extra : "";
}

bool offers(const DriverStack& driver, std::string_view extra)
{
    const auto is_it = [&](const auto& one) { return is_of(one.extra, extra); };
    return std::ranges::any_of(driver.nodes, is_it)
           || std::ranges::any_of(driver.missing_nodes, is_it)
           || std::ranges::any_of(driver.shared_paths, is_it);
}

bool has_extra(const Extras& extras, const std::string& name)
{
    return extras.contains(name)
           || (name.starts_with(channel) && extras.contains(std::string(all_channels)));
}

bool is_shared(const model::SharedPath& shared, const std::set<model::Capability>& capabilities,
               const Extras& extras)
{
    if (shared.capability == model::Capability::none)
        return has_extra(extras, shared.extra);
    return capabilities.contains(shared.capability)
           && !extras.contains(base::format("{}{}", no, shared.extra));
}

Result<void> require_extras(const Extras& extras, std::span<const DriverStack* const> drivers)
{
    for (const std::string& word : extras)
        if (!word.starts_with(no) && std::ranges::none_of(drivers, [&](const auto* driver) {
                return offers(*driver, word);
            }))
            return no_extra(word).with_argument("extras");
    return {};
}

} // namespace gpucontainer::plan
