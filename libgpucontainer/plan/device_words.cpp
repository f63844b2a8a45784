// SPDX-License-Identifier: MIT
#include "plan/device_words.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

using model::Gpu;

/// A word with more digits is the beginning of a UUID: no host has so many GPUs.
constexpr std::size_t longest_index = 4;

std::optional<unsigned> index_in(std::string_view word)
{
    const auto number = word.size() <= longest_index ? base::to_number(word) : std::nullopt;
    return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

std::optional<IndexRange> range_in(std::string_view word)
{
    const auto dash = word.find('-');
    const auto first = index_in(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : index_in(word.substr(dash + 1));
    if (!first || !last || *first > *last)
        return std::nullopt;
    return IndexRange{*first, *last};
}

/// Domain, bus, device and function of an address. Its domain may be missing, or have four or eight
/// digits.
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

constexpr std::string_view of_instances = "mig-"; ///< UUIDs of instances begin so.

/// Without the prefixes that some tools write.
std::string plain_uuid(std::string_view text)
{
    std::string uuid = base::to_lower(text);
    for (const std::string_view mark :
         {std::string_view("gpu-"), of_instances, std::string_view("0x")})
        if (uuid.starts_with(mark))
            uuid.erase(0, mark.size());
    return uuid;
}

constexpr std::size_t shortest_prefix = 8;
constexpr std::string_view too_short = "too short: a UUID needs at least 8 characters";

bool is_uuid_of_instance(std::string_view word)
{
    return base::to_lower(word.substr(0, of_instances.size())) == of_instances;
}

bool uuid_matches(const Gpu& gpu, std::string_view wanted)
{
    if (is_uuid_of_instance(wanted) && !gpu.is_instance())
        return false;
    const std::string prefix = plain_uuid(wanted);
    return prefix.size() >= shortest_prefix && plain_uuid(gpu.uuid).starts_with(prefix);
}

bool has_name(const Gpu& gpu, std::string_view wanted)
{
    const std::string word = base::to_lower(wanted);
    return std::ranges::any_of(
        gpu.names, [&](const std::string& name) { return base::to_lower(name) == word; });
}

std::vector<unsigned> indexes_in(const IndexRange& range)
{
    std::vector<unsigned> indexes(range.last - range.first + 1);
    std::iota(indexes.begin(), indexes.end(), range.first);
    return indexes;
}

std::vector<IndexRange> merged(std::vector<IndexRange> ranges)
{
    std::ranges::sort(ranges, {}, &IndexRange::first);
    std::vector<IndexRange> apart;
    for (const IndexRange& range : ranges)
        if (apart.empty() || range.first > apart.back().last + 1)
            apart.push_back(range);
        else
            apart.back().last = std::max(apart.back().last, range.last);
    return apart;
}

Error unknown(const DriverStack& driver, std::string why)
{
    return Error(Errc::usage, std::move(why)).with_hint(known_gpus(driver));
}

/// GPUs, ascending, each with all its instances.
std::vector<unsigned> with_instances(const DriverStack& driver, std::vector<unsigned> gpus)
{
    const std::size_t count = gpus.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto instances = driver.instances_of(gpus[i]);
        gpus.insert(gpus.end(), instances.begin(), instances.end());
    }
    std::ranges::sort(gpus);
    gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
    return gpus;
}

/// The GPU of "1:0", which also reads as a PCI address, if that GPU has instances.
std::optional<unsigned> gpu_of_position(const DriverStack& driver, std::string_view word)
{
    const auto colon = word.find(':');
    if (colon == std::string_view::npos || !index_in(word.substr(colon + 1)))
        return std::nullopt;
    const auto gpu = index_in(word.substr(0, colon));
    return gpu && !driver.instances_of(*gpu).empty() ? gpu : std::nullopt;
}

/// Whether it is an instance by its numbers, "MIG-GPU-UUID/9/0", and the kernel tells which there
/// are: the GPU's UUID is known, or all of them are. One that is not among them is gone.
bool is_by_numbers(const DriverStack& driver, std::string_view word)
{
    const auto slash = word.find('/');
    if (!is_uuid_of_instance(word) || slash == std::string_view::npos)
        return false;
    const std::string uuid =
        base::to_lower(word.substr(of_instances.size(), slash - of_instances.size()));
    bool all_are_known = true;
    for (const Gpu& gpu : driver.gpus) {
        if (gpu.is_instance())
            continue;
        if (base::to_lower(gpu.uuid) == uuid)
            return true;
        all_are_known = all_are_known && !gpu.uuid.empty();
    }
    return all_are_known;
}

/// Whether the word can only name an instance by what the kernel does not tell.
bool needs_more_than_kernel(const DriverStack& driver, std::string_view word)
{
    if (is_by_numbers(driver, word))
        return false;
    const auto is_unnamed = [](const Gpu& gpu) { return gpu.is_instance() && gpu.uuid.empty(); };
    return std::ranges::any_of(driver.gpus, is_unnamed)
           && (is_uuid_of_instance(word) || gpu_of_position(driver, word));
}

Error not_told(const DriverStack& driver)
{
    const auto unfit =
        std::ranges::find(driver.findings, model::FindingCode::map_unfit, &model::Finding::code);
    if (unfit != driver.findings.end())
        return Error(Errc::requirement, unfit->message()).with_hint(unfit->hint);
    return Error(Errc::requirement,
                 "the kernel tells neither UUIDs nor an order of MIG instances, and no map does")
        .with_hint(base::format("name it as the kernel does, such as {}, or name a map with "
                                "--mig-map",
                                driver.gpus.back().label()));
}

/// The UUIDs that begin with a word that is too short to name one.
std::string begun_by(const DriverStack& driver, std::string_view word)
{
    const std::string prefix = plain_uuid(word);
    std::string uuids;
    if (prefix.empty() || prefix.size() >= shortest_prefix)
        return uuids;
    std::string_view last; // partitions of a card have the same UUID
    for (const Gpu& gpu : driver.gpus) {
        if (gpu.uuid == last || !plain_uuid(gpu.uuid).starts_with(prefix))
            continue;
        uuids += base::format("{}{}", uuids.empty() ? "" : ", ", gpu.uuid);
        last = gpu.uuid;
    }
    return uuids;
}

Error nothing_called(const DriverStack& driver, std::string_view word)
{
    std::string uuids = begun_by(driver, word);
    if (!uuids.empty())
        return unknown(driver, std::string(too_short))
            .with_hint("these UUIDs begin so: " + std::move(uuids));
    if (needs_more_than_kernel(driver, word))
        return not_told(driver);
    const std::string_view fault = fault_in(word);
    return unknown(driver, fault.empty() ? "no such GPU" : std::string(fault));
}

/// For a range with indexes that no GPU has.
Error out_of_range(const DriverStack& driver, const IndexRange& range)
{
    if (range.first == range.last || driver.gpus.empty())
        return unknown(driver, "no such GPU");
    return unknown(driver, base::format("the last GPU is {}", driver.whole_gpus() - 1));
}

} // namespace

bool is_index(std::string_view word) { return range_in(word).has_value(); }

NumberList read_numbers(std::string_view list)
{
    std::vector<IndexRange> ranges;
    std::set<std::string_view> others;
    for (const std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        if (const auto range = range_in(word))
            ranges.push_back(*range);
        else
            others.insert(word);
    }
    return {merged(std::move(ranges)), std::move(others)};
}

bool is_too_short(const DriverStack& driver, std::string_view word)
{
    return !begun_by(driver, word).empty();
}

std::string_view fault_in(std::string_view word)
{
    if (!word.empty() && plain_uuid(word).empty())
        return too_short;
    const auto dash = word.find('-');
    if (dash == std::string_view::npos || !index_in(word.substr(0, dash)) || is_index(word))
        return "";
    const std::string_view last = word.substr(dash + 1);
    if (last.empty())
        return "a range without an end";
    if (last.find_first_not_of("0123456789") != std::string_view::npos)
        return "";
    return index_in(last) ? "the range ends before it begins" : "no host has that many GPUs";
}

std::string known_gpus(const DriverStack& driver)
{
    if (driver.gpus.empty())
        return "there is none; `auto` and `none` show the driver's files";
    const std::size_t whole = driver.whole_gpus();
    if (whole < driver.gpus.size())
        return base::format("there are {} GPUs, numbered from 0, and {} MIG instances: {} to {}; "
                            "`gpuctr-setup list` shows them",
                            whole, driver.gpus.size() - whole, driver.gpus[whole].label(),
                            driver.gpus.back().label());
    if (driver.gpus.size() == 1) {
        const Gpu& gpu = driver.gpus.front();
        return base::format("there is one GPU: 0{}{}{}{}", gpu.uuid.empty() ? "" : ", ", gpu.uuid,
                            gpu.pci_address.empty() ? "" : ", ", gpu.pci_address);
    }
    return base::format("there are {} GPUs: 0 to {}; `gpuctr-setup list` shows UUIDs and PCI "
                        "addresses",
                        driver.gpus.size(), driver.gpus.size() - 1);
}

Result<std::vector<unsigned>> find_gpus(const DriverStack& driver, std::string_view word)
{
    if (const auto range = range_in(word)) {
        if (range->last >= driver.whole_gpus())
            return out_of_range(driver, *range);
        return with_instances(driver, indexes_in(*range));
    }
    for (const Gpu& gpu : driver.gpus)
        if (gpu.is_instance()
            && (has_name(gpu, word) || base::to_lower(word) == base::to_lower(gpu.uuid)))
            return std::vector{static_cast<unsigned>(gpu.parent), gpu.index};
    if (gpu_of_position(driver, word))
        return nothing_called(driver, word);
    std::vector<unsigned> matches;
    const auto address = pci_parts(word);
    std::string uuid;
    for (const Gpu& gpu : driver.gpus) {
        const bool by_uuid = !address && uuid_matches(gpu, word);
        if (by_uuid && !uuid.empty() && gpu.uuid != uuid)
            return unknown(driver, "more than one GPU has a UUID that begins so");
        if (by_uuid)
            uuid = gpu.uuid;
        if (by_uuid || has_name(gpu, word) || (address && pci_parts(gpu.pci_address) == address))
            matches.push_back(gpu.index);
    }
    if (matches.empty())
        return nothing_called(driver, word);
    if (driver.gpus[matches.front()].is_instance()) // named by its UUID, so it is one
        return std::vector{static_cast<unsigned>(driver.gpus[matches.front()].parent),
                           matches.front()};
    return with_instances(driver, std::move(matches));
}

} // namespace gpucontainer::plan
