// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"
#include "elf/ld_cache_writer.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

constexpr std::string_view tree = "/usr/lib/gpuctr";

using Line = std::tuple<std::string, std::string, std::int32_t, std::uint32_t, std::string>;

/// What counts of a valid entry, whatever its index of directories is.
Line line_of(const elf::CacheEntry& entry)
{
    return {std::string(entry.key), std::string(entry.value), entry.flags, entry.os_version,
            std::string(entry.hwcaps_name)};
}

std::vector<Line> lines_of(const elf::LdCache& cache)
{
    std::vector<Line> lines;
    for (const elf::CacheEntry& entry : cache.entries())
        lines.push_back(line_of(entry));
    std::sort(lines.begin(), lines.end());
    return lines;
}

/// Names that the cache has too, and some that hardly any has.
std::vector<elf::NewCacheEntry> entries_for(const elf::LdCache& old,
                                            std::vector<std::string>& paths)
{
    std::vector<elf::NewCacheEntry> ours = {
        {"libcuda.so.1", "/usr/lib/gpuctr/libcuda.so.1"},
        {"libnvidia-ml.so.1", "/usr/lib/gpuctr/libnvidia-ml.so.580.1"},
        {"libcuda.so.1", "/usr/lib/gpuctr/second/libcuda.so.1"},
    };
    constexpr std::size_t most_taken = 4;
    const auto entries = old.entries();
    paths.reserve(most_taken); // entries borrow from it
    for (const elf::CacheEntry& entry : entries) {
        if (paths.size() == most_taken)
            break;
        if (entry.key.find('/') != std::string_view::npos)
            continue;
        paths.push_back(std::string(tree) + "/" + std::string(entry.key));
        ours.push_back({entry.key, paths.back(), entry.flags});
    }
    return ours;
}

/// Among the entries of a name and its flags. In the order of the cache the loader
/// goes through all of a name, however many.
void check_found_first(const elf::LdCache& merged, const std::vector<elf::NewCacheEntry>& ours)
{
    const auto entries = merged.entries();
    for (const elf::NewCacheEntry& entry : ours) {
        const auto same = [&](const auto& other) {
            return elf::compare_names(other.key, entry.key) == 0 && other.flags == entry.flags;
        };
        const auto first = std::find_if(ours.begin(), ours.end(), same);
        const auto found = std::find_if(entries.begin(), entries.end(), same);
        demand(found != entries.end() && found->value == first->path, "ours are found first");
    }
}

void check_sorted(const elf::LdCache& cache)
{
    const auto entries = cache.entries();
    demand(entries.size() == cache.size(), "what we write is valid");
    demand(std::is_sorted(entries.begin(), entries.end(),
                          [](const auto& left, const auto& right) {
                              const int order = elf::compare_names(left.key, right.key);
                              return order != 0 ? order > 0 : left.flags > right.flags;
                          }),
           "what we write is in the order in which the loader searches");
}

/// Nothing of the image is lost but what would win over ours.
void check_kept(const elf::LdCache& old, const elf::LdCache& merged,
                const std::vector<elf::DroppedEntry>& dropped,
                const std::vector<elf::NewCacheEntry>& ours)
{
    const auto kept = lines_of(merged);
    for (const elf::CacheEntry& entry : old.entries()) {
        const auto replaces = [&](const elf::NewCacheEntry& other) {
            return other.path == entry.value && other.flags == entry.flags;
        };
        const auto is_it = [&](const elf::DroppedEntry& other) {
            return other.key == entry.key && other.path == entry.value
                   && other.hwcaps_name == entry.hwcaps_name;
        };
        demand(std::binary_search(kept.begin(), kept.end(), line_of(entry))
                   || std::any_of(ours.begin(), ours.end(), replaces)
                   || std::any_of(dropped.begin(), dropped.end(), is_it),
               "the image keeps its entries");
    }
}

elf::LdCache read_back(const std::string& bytes)
{
    auto cache = elf::LdCache::parse(bytes);
    demand(cache.has_value(), "what we write can be read");
    return *std::move(cache);
}

} // namespace

/// A hostile cache with ours merged into it, and out of it again.
void run(std::string_view input)
{
    const auto old = elf::LdCache::parse(std::string(input));
    if (!old)
        return;
    std::vector<std::string> paths;
    const auto ours = entries_for(*old, paths);
    const auto merged = elf::merge(&*old, ours);
    if (!merged)
        return; // too large
    const auto cache = read_back(merged->bytes);
    check_sorted(cache);
    check_found_first(cache, ours);
    check_kept(*old, cache, merged->dropped, ours);

    const auto again = elf::merge(&cache, ours);
    demand(again.has_value() && lines_of(read_back(again->bytes)) == lines_of(cache),
           "merging twice changes nothing more");

    const auto without = elf::without(cache, tree);
    demand(without.has_value(), "what was merged can be taken out");
    const auto rest = read_back(*without);
    check_sorted(rest);
    for (const elf::CacheEntry& entry : rest.entries())
        demand(!base::is_below(entry.value, tree), "none of ours is left");
}

} // namespace gpucontainer::fuzz
