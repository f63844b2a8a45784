// SPDX-License-Identifier: MIT
#include "plan/device_words.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace gpucontainer::plan {
namespace {

using vendor::Gpu;

/// Eight digits may begin a UUID, but no host has that many GPUs.
constexpr std::size_t longest_index = 4;

std::optional<std::uint64_t> index_in(std::string_view word)
{
    return word.size() <= longest_index ? base::to_number(word) : std::nullopt;
}

struct Range {
    std::uint64_t first;
    std::uint64_t last;
};

std::optional<Range> range_in(std::string_view word)
{
    const auto dash = word.find('-');
    const auto first = index_in(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : index_in(word.substr(dash + 1));
    if (!first || !last || *first > *last)
        return std::nullopt;
    return Range{*first, *last};
}

/// Domain, bus, device and function of an address in its short, four-digit or
/// eight-digit domain form.
std::optional<std::array<std::uint64_t, 4>> pci_parts(std::string_view text)
{
    auto parts = base::split(text, ':');
    if (parts.size() == 2)
        parts.insert(parts.begin(), "0");
    if (parts.size() != 3)
        return std::nullopt;
    const auto dot = parts[2].find('.');
    const auto function =
        dot == std::string_view::npos ? std::string_view("0") : parts[2].substr(dot + 1);
    const std::array text_parts = {parts[0], parts[1], parts[2].substr(0, dot), function};
    std::array<std::uint64_t, 4> numbers = {};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = base::to_number(text_parts[i], 16);
        if (!number)
            return std::nullopt;
        numbers[i] = *number;
    }
    return numbers;
}

/// Without the marks that some tools put in front of one.
std::string plain_uuid(std::string_view text)
{
    std::string uuid = base::to_lower(text);
    for (const std::string_view mark : {"gpu-", "0x"})
        if (uuid.starts_with(mark))
            uuid.erase(0, mark.size());
    return uuid;
}

bool uuid_matches(const Gpu& gpu, std::string_view wanted)
{
    constexpr std::size_t shortest_prefix = 8;
    const std::string prefix = plain_uuid(wanted);
    return prefix.size() >= shortest_prefix && plain_uuid(gpu.uuid).starts_with(prefix);
}

bool has_name(const Gpu& gpu, std::string_view wanted)
{
    const std::string word = base::to_lower(wanted);
    return std::ranges::any_of(
        gpu.names, [&](const std::string& name) { return base::to_lower(name) == word; });
}

std::vector<unsigned> indexes_in(const Range& range)
{
    std::vector<unsigned> indexes(range.last - range.first + 1);
    std::iota(indexes.begin(), indexes.end(), static_cast<unsigned>(range.first));
    return indexes;
}

Error unknown(const vendor::DriverStack& driver, std::string_view word, std::string_view why)
{
    return Error(Errc::usage, fmt::format("device {}: {}", word, why))
        .with_object(std::string(word))
        .with_hint(known_gpus(driver));
}

} // namespace

bool is_index(std::string_view word) { return range_in(word).has_value(); }

std::string known_gpus(const vendor::DriverStack& driver)
{
    if (driver.gpus.size() == 1) {
        const Gpu& gpu = driver.gpus.front();
        return fmt::format("there is one GPU: 0{}{}{}{}", gpu.uuid.empty() ? "" : ", ", gpu.uuid,
                           gpu.pci_address.empty() ? "" : ", ", gpu.pci_address);
    }
    return fmt::format("there are {} GPUs: 0 to {}; `gpuctr-setup list` shows UUIDs and PCI "
                       "addresses",
                       driver.gpus.size(), driver.gpus.size() - 1);
}

Result<std::vector<unsigned>> find_gpus(const vendor::DriverStack& driver, std::string_view word)
{
    if (const auto range = range_in(word)) {
        if (range->last >= driver.gpus.size())
            return unknown(driver, word, "no such GPU");
        return indexes_in(*range);
    }
    std::vector<unsigned> matches;
    const auto address = pci_parts(word);
    std::string uuid;
    for (const Gpu& gpu : driver.gpus) {
        const bool by_uuid = !address && uuid_matches(gpu, word);
        if (by_uuid && !uuid.empty() && gpu.uuid != uuid)
            return unknown(driver, word, "more than one GPU has a UUID that begins so");
        if (by_uuid)
            uuid = gpu.uuid;
        if (by_uuid || has_name(gpu, word) || (address && pci_parts(gpu.pci_address) == address))
            matches.push_back(gpu.index);
    }
    if (matches.empty())
        return unknown(driver, word, "no such GPU");
    return matches;
}

} // namespace gpucontainer::plan
