// SPDX-License-Identifier: MIT
#include "plan/selection.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::plan {
namespace {

using vendor::Gpu;

/// Eight digits may begin a UUID, but no host has that many GPUs.
constexpr std::size_t longest_index = 4;

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

bool uuid_matches(const Gpu& gpu, std::string_view wanted)
{
    constexpr std::size_t shortest_prefix = 8;
    constexpr std::string_view mark = "gpu-";
    std::string uuid = base::to_lower(gpu.uuid);
    std::string prefix = base::to_lower(wanted);
    if (prefix.starts_with(mark))
        prefix.erase(0, mark.size());
    if (uuid.starts_with(mark))
        uuid.erase(0, mark.size());
    return prefix.size() >= shortest_prefix && uuid.starts_with(prefix);
}

std::string known_gpus(const vendor::DriverStack& driver)
{
    if (driver.gpus.size() == 1) {
        const Gpu& gpu = driver.gpus.front();
        return fmt::format("there is one GPU: 0, {}{}{}", gpu.uuid, gpu.uuid.empty() ? "" : ", ",
                           gpu.pci_address);
    }
    return fmt::format("there are {} GPUs: 0 to {}; `gpuctr-setup list` shows UUIDs and PCI "
                       "addresses",
                       driver.gpus.size(), driver.gpus.size() - 1);
}

Error unknown(const vendor::DriverStack& driver, std::string_view word, std::string_view why)
{
    return Error(Errc::usage, fmt::format("device {}: {}", word, why))
        .with_object(std::string(word))
        .with_hint(known_gpus(driver));
}

Result<unsigned> find_gpu(const vendor::DriverStack& driver, std::string_view word)
{
    if (const auto index = base::to_number(word); index && word.size() <= longest_index) {
        if (*index < driver.gpus.size())
            return static_cast<unsigned>(*index);
        return unknown(driver, word, "no such GPU");
    }
    const auto address = pci_parts(word);
    std::vector<unsigned> matches;
    for (const Gpu& gpu : driver.gpus)
        if (address ? pci_parts(gpu.pci_address) == address : uuid_matches(gpu, word))
            matches.push_back(gpu.index);
    if (matches.empty())
        return unknown(driver, word, "no such GPU");
    if (matches.size() > 1)
        return unknown(driver, word, "more than one GPU has a UUID that begins so");
    return matches.front();
}

Error nothing_usable(const vendor::DriverStack& driver)
{
    Error error(Errc::permission, fmt::format("none of the {} {} GPUs may be used",
                                              driver.gpus.size(), driver.vendor_name));
    const auto first = std::ranges::find_if(
        driver.nodes, [](const auto& node) { return node.gpu >= 0 && !node.accessible; });
    if (first == driver.nodes.end())
        return std::move(error).with_hint("their device nodes are missing; `gpuctr-setup list` "
                                          "shows which are there");
    return std::move(error).with_hint(fmt::format("{}: {}; `gpuctr-setup list -v` says why of each",
                                                  first->host_path, driver.obstacle_to(*first)));
}

bool is_accessible(const vendor::DriverStack& driver, unsigned gpu)
{
    return std::any_of(driver.nodes.begin(), driver.nodes.end(), [&](const auto& node) {
        return node.gpu == static_cast<int>(gpu) && node.accessible;
    });
}

/// As the vendor's own runtime reads a word of the scheduler's list: an index
/// counts among the GPUs that the process may use, and others do not exist.
std::optional<unsigned> find_granted(const vendor::DriverStack& driver, std::string_view word,
                                     const std::vector<unsigned>& granted)
{
    if (const auto index = base::to_number(word); index && word.size() <= longest_index)
        return *index < granted.size() ? std::optional(granted[*index]) : std::nullopt;
    const auto gpu = find_gpu(driver, word);
    if (!gpu || std::find(granted.begin(), granted.end(), *gpu) == granted.end())
        return std::nullopt;
    return *gpu;
}

/// The scheduler's list, up to the first word that the vendor's own runtime
/// would not know.
Selection narrow_to_scheduler(const vendor::DriverStack& driver, std::string_view value,
                              const Selection& granted)
{
    Selection narrowed;
    std::vector<std::string_view> uuids;
    for (std::string_view part : base::split(value, ',')) {
        const auto gpu = find_granted(driver, base::trim(part), granted.gpus);
        if (!gpu)
            break;
        narrowed.gpus.push_back(*gpu);
        uuids.push_back(driver.gpus[*gpu].uuid);
    }
    if (std::find(uuids.begin(), uuids.end(), "") == uuids.end())
        narrowed.visible = fmt::format("{}", fmt::join(uuids, ","));
    return narrowed;
}

Result<Selection> select_automatically(const vendor::DriverStack& driver,
                                       std::optional<std::string_view> scheduler)
{
    Selection selection;
    for (const Gpu& gpu : driver.gpus)
        if (is_accessible(driver, gpu.index))
            selection.gpus.push_back(gpu.index);
    // Where nothing drives them there are no nodes, and a plan only shows.
    for (const Gpu& gpu : driver.gpus)
        if (gpu.minor < 0 && driver.version_source != vendor::VersionSource::module)
            selection.gpus.push_back(gpu.index);
    if (selection.gpus.empty())
        return nothing_usable(driver);
    if (scheduler) {
        selection = narrow_to_scheduler(driver, *scheduler, selection);
        if (selection.gpus.empty())
            return Error(Errc::no_device, fmt::format("{}={} grants no GPU of this host",
                                                      driver.visible_devices, *scheduler))
                .with_hint("name GPUs with --device to decide otherwise");
    }
    return selection;
}

} // namespace

Result<Selection> select_gpus(const vendor::DriverStack& driver, std::string_view list,
                              std::optional<std::string_view> scheduler)
{
    const std::string_view whole = base::trim(list);
    if (base::to_lower(whole) == "auto") {
        GPUCTR_TRY(Selection selection, select_automatically(driver, scheduler));
        std::sort(selection.gpus.begin(), selection.gpus.end());
        const auto repeated = std::unique(selection.gpus.begin(), selection.gpus.end());
        selection.gpus.erase(repeated, selection.gpus.end());
        return selection;
    }

    std::set<unsigned> chosen;
    Selection selection;
    selection.explicitly = true;
    for (std::string_view part : base::split(whole, ',')) {
        const std::string_view word = base::trim(part);
        const std::string keyword = base::to_lower(word);
        if (keyword == "auto" || (keyword == "none" && whole != word))
            return unknown(driver, word, "stands alone or not at all");
        if (keyword == "none")
            continue;
        if (keyword == "all") {
            for (const Gpu& gpu : driver.gpus)
                chosen.insert(gpu.index);
            continue;
        }
        if (word.empty())
            return unknown(driver, fmt::format("list '{}'", whole), "an empty name in it");
        GPUCTR_TRY(const unsigned gpu, find_gpu(driver, word));
        chosen.insert(gpu);
    }
    selection.gpus.assign(chosen.begin(), chosen.end());
    return selection;
}

Result<std::set<vendor::Capability>> parse_capabilities(std::string_view list)
{
    using vendor::Capability;
    constexpr std::array built = {Capability::compute, Capability::utility};
    std::set<Capability> chosen;
    for (std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        if (word == "all") {
            chosen.insert(built.begin(), built.end());
            continue;
        }
        const auto capability = vendor::parse_capability(word);
        if (!capability || std::find(built.begin(), built.end(), *capability) == built.end())
            return Error(Errc::usage, fmt::format("unknown driver capability '{}'", word))
                .with_object(std::string(word))
                .with_hint("known are compute, utility and all");
        chosen.insert(*capability);
    }
    return chosen;
}

} // namespace gpucontainer::plan
