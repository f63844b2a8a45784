// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"

#include "base/lazy_file.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"

#include <algorithm>
#include <climits>

namespace gpucontainer::fuzz {
namespace {

void check(const elf::CacheEntry& entry)
{
    demand(!entry.key.empty() && entry.key.size() <= NAME_MAX, "a key is a name");
    demand(!entry.value.empty() && entry.value.size() < PATH_MAX, "a value is a path");
    demand(entry.key.find('\0') == std::string_view::npos, "a key ends at its NUL");
    demand(entry.value.find('\0') == std::string_view::npos, "a value ends at its NUL");
}

bool is_same(const elf::CacheEntry& left, const elf::CacheEntry& right)
{
    return left.key == right.key && left.value == right.value && left.flags == right.flags
           && left.hwcap == right.hwcap && left.hwcaps_name == right.hwcaps_name;
}

void check_lookup(const elf::LdCache& cache, const std::vector<elf::CacheEntry>& entries)
{
    constexpr std::size_t most_looked_up = 16; // each is looked for among all
    for (std::size_t i = 0; i < std::min(entries.size(), most_looked_up); ++i)
        for (const elf::CacheEntry& found : cache.lookup(entries[i].key, entries[i].flags)) {
            demand(found.flags == entries[i].flags, "a lookup keeps to the flags");
            demand(elf::compare_names(found.key, entries[i].key) == 0, "it keeps to the name");
            demand(std::any_of(entries.begin(), entries.end(),
                               [&](const auto& entry) { return is_same(entry, found); }),
                   "it finds what is there");
        }
    for (const std::string_view name : {"libcuda.so.1", "libc.so.6", "", "lib01.so.99999999999"})
        (void)cache.lookup(name);
}

void check_order(const std::vector<elf::CacheEntry>& entries)
{
    for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
        const std::string_view left = entries[i].key;
        const std::string_view right = entries[i + 1].key;
        const int order = elf::compare_names(left, right);
        const int back = elf::compare_names(right, left);
        demand((order < 0) == (back > 0) && (order == 0) == (back == 0), "names have one order");
        demand(elf::compare_names(left, left) == 0, "a name is equal to itself");
    }
}

} // namespace

/// A loader cache of an image: from memory, and page by page from a file.
void run(std::string_view input)
{
    const std::string bytes(input);
    const auto cache = elf::LdCache::parse(bytes);
    auto file = base::LazyFile::open(memory_file(input), elf::max_cache_size);
    demand(file.has_value(), "a file in memory can be read");
    const auto from_file = elf::LdCache::parse(*std::move(file));
    demand(cache.has_value() == from_file.has_value(), "file and memory are the same");
    if (!cache)
        return;

    const auto entries = cache->entries();
    demand(entries.size() <= cache->size(), "no more entries than the header says");
    std::for_each(entries.begin(), entries.end(), check);
    const auto same_entries = from_file->entries();
    demand(std::equal(entries.begin(), entries.end(), same_entries.begin(), same_entries.end(),
                      is_same),
           "file and memory hold the same");
    demand(cache->generator() == from_file->generator(), "they have one writer");
    demand(!cache->at(cache->size()), "nothing comes behind the last one");
    check_lookup(*cache, entries);
    check_order(entries);
}

} // namespace gpucontainer::fuzz
