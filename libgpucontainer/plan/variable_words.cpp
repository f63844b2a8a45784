// SPDX-License-Identifier: MIT
#include "plan/variable_words.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/device_words.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

namespace gpucontainer::plan {

using Reader = model::VisibleDevices::Reader;
using Inside = model::VisibleDevices::Inside;

std::vector<Counted> VariableWords::read(std::string_view value, std::string_view scheduler) const
{
    if (variable_.reader == Reader::toolkit && counts_elsewhere(value))
        return seen_;
    const bool counts_host = repeats(value, scheduler);
    All left;
    for (const std::string_view part : base::split(value, ',')) {
        const std::string_view word = base::trim(part);
        const All found = counts_host ? find_seen(word) : find(word);
        if (found.empty() && variable_.reader == Reader::library && !counts_host)
            break;
        left.insert(left.end(), found.begin(), found.end());
    }
    return variable_.reader == Reader::filter ? in_order(left) : left;
}

std::optional<std::string_view> VariableWords::unknown_word(std::string_view value) const
{
    if (variable_.reader != Reader::toolkit || base::to_lower(value) == "none"
        || counts_elsewhere(value))
        return std::nullopt;
    for (const std::string_view part : base::split(value, ',')) {
        const std::string_view word = base::trim(part);
        if (!is_known_to_toolkit(word))
            return word;
    }
    return std::nullopt;
}

std::optional<std::vector<Counted>> VariableWords::find_on_host(std::string_view word) const
{
    if (variable_.reader == Reader::toolkit && !is_known_to_toolkit(word))
        return std::nullopt;
    All found = find(word);
    if (found.empty())
        return std::nullopt;
    return found;
}

std::optional<std::string> VariableWords::write(const All& counted) const
{
    std::vector<std::string> all;
    for (const Counted& one : counted) {
        all.push_back(word_for(one));
        if (all.back().empty())
            return std::nullopt;
    }
    return base::joined(all, ",");
}

bool VariableWords::counts_beyond(std::string_view value, std::string_view scheduler,
                                  Numbers numbers) const
{
    if (!has_positions() || repeats(value, scheduler))
        return false;
    bool is_beyond = false;
    for (const std::string_view part : base::split(value, ',')) {
        const auto number = base::to_number(base::trim(part));
        if (!number || *number >= numbers.on_host)
            return false;
        is_beyond = is_beyond || *number >= numbers.granted;
    }
    return is_beyond;
}

bool VariableWords::has_positions() const
{
    return variable_.prefix.empty()
           && (variable_.reader == Reader::library || variable_.reader == Reader::filter);
}

/// Whether a value repeats the scheduler's list: one of its numbers is too high for a position.
bool VariableWords::repeats(std::string_view value, std::string_view scheduler) const
{
    if (!has_positions())
        return false;
    const NumberList numbers = read_numbers(value);
    return numbers.others.empty() && numbers.ranges.back().last >= seen_.size()
           && numbers == read_numbers(scheduler);
}

std::vector<Counted> VariableWords::find(std::string_view word) const
{
    if (variable_.reader == Reader::toolkit)
        return find_of_toolkit(word);
    if (variable_.reader == Reader::runtime && base::to_lower(word) == "all")
        return seen_;
    if (!variable_.prefix.empty())
        return find_seen(variable_.prefix + std::string(word));
    if (variable_.reader == Reader::filter)
        return find_position(word);
    // For a library, an index is a position among the GPUs that it sees. It knows no ranges.
    if (variable_.reader == Reader::library && is_index(word))
        return find_position(word);
    return find_seen(word);
}

std::vector<Counted> VariableWords::find_of_toolkit(std::string_view word) const
{
    const std::string_view name = without_kind(word);
    return base::to_lower(name) == "all" ? seen_ : find_seen(name);
}

/// Whether the word names a GPU of this host, granted or not: by a UUID, an index, or a CDI name
/// with these. "0:1", a part of a GPU (MIG), is excluded, because it would read as a PCI address.
bool VariableWords::is_known_to_toolkit(std::string_view word) const
{
    const std::string_view name = without_kind(word);
    return base::to_lower(name) == "all"
           || (std::ranges::count(name, ':') != 1 && find_gpus(driver_, name));
}

/// "nvidia.com/gpu=0" as "0". With "runtime." in front of it, the same is asked of a runtime.
std::string_view VariableWords::without_kind(std::string_view word) const
{
    constexpr std::string_view of_runtime = "runtime.";
    const std::string kind = driver_.cdi_kind + "=";
    const bool asks_runtime = word.starts_with(of_runtime);
    const std::string_view name = asks_runtime ? word.substr(of_runtime.size()) : word;
    if (!driver_.cdi_kind.empty() && name.starts_with(kind))
        return name.substr(kind.size());
    return word;
}

/// Whether a value has as many different indexes as there are GPUs here, and one is too high. Then
/// this is a container, and they are the numbers that its GPUs have outside.
bool VariableWords::counts_elsewhere(std::string_view value) const
{
    std::set<std::uint64_t> numbers;
    for (const std::string_view part : base::split(value, ',')) {
        const auto number = base::to_number(base::trim(part));
        if (!number || !numbers.insert(*number).second)
            return false;
    }
    return numbers.size() == driver_.gpus.size() && *numbers.rbegin() >= numbers.size();
}

/// What is seen of the GPUs that a word names; empty if there is none.
std::vector<Counted> VariableWords::find_seen(std::string_view word) const
{
    const auto found = find_gpus(driver_, word);
    All left;
    for (const unsigned gpu : found ? *found : std::vector<unsigned>())
        for (const Counted& one : seen_)
            if (one.gpu == gpu)
                left.push_back(one);
    return left;
}

/// "1", or "1.0" for a part of it if parts are not counted themselves.
std::vector<Counted> VariableWords::find_position(std::string_view word) const
{
    const auto dot = word.find('.');
    const auto position = base::to_number(word.substr(0, dot));
    if (!position || *position >= seen_.size())
        return {};
    const Counted& one = seen_[*position];
    if (dot == std::string_view::npos)
        return {one};
    const auto part = base::to_number(word.substr(dot + 1));
    if (one.part || !part || *part >= driver_.gpus[one.gpu].parts)
        return {};
    return {{one.gpu, static_cast<unsigned>(*part)}};
}

/// Each once, in the order of `seen_`.
std::vector<Counted> VariableWords::in_order(const All& found) const
{
    All left;
    const auto add = [&](const Counted& one) {
        const bool is_found = std::ranges::find(found, one) != found.end();
        if (is_found)
            left.push_back(one);
        return is_found;
    };
    for (const Counted& one : seen_) {
        if (add(one) || one.part)
            continue;
        for (unsigned part = 0; part < driver_.gpus[one.gpu].parts; ++part)
            add({one.gpu, part});
    }
    return left;
}

std::string VariableWords::word_for(const Counted& one) const
{
    if (variable_.inside == Inside::uuid)
        return driver_.gpus[one.gpu].uuid;
    if (variable_.inside == Inside::name)
        return name_of(one.gpu);
    const auto exact = std::ranges::find(seen_, one);
    if (exact != seen_.end())
        return std::to_string(exact - seen_.begin());
    const auto all_of_it = std::ranges::find(seen_, one.gpu, &Counted::gpu);
    return base::format("{}.{}", all_of_it - seen_.begin(), one.part.value_or(0));
}

std::string VariableWords::name_of(unsigned gpu) const
{
    for (const std::string& name : driver_.gpus[gpu].names)
        if (name.starts_with(variable_.prefix))
            return name.substr(variable_.prefix.size());
    return "";
}

} // namespace gpucontainer::plan
