// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "elf/ld_cache.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// A line to be put into a cache; a borrowed view.
struct NewCacheEntry {
    std::string_view key;  ///< soname, a plain file name
    std::string_view path; ///< absolute
    std::int32_t flags = native_cache_flags;
};

/// An entry that was left out because it would have won over one of ours.
struct DroppedEntry {
    std::string key;
    std::string path;
    std::string hwcaps_name; ///< "x86-64-v3"
};

struct MergedCache {
    std::string bytes;
    std::vector<DroppedEntry> dropped;
};

/// The content of a loader cache in which each of `ours` is what the loader
/// finds first for its key and flags, in the given order where several share
/// them; all else of `old` stays (nullptr: nothing was there). Entries of
/// `old` out of order are put in order, invalid ones left out. Pure.
Result<MergedCache> merge(const LdCache* old, const std::vector<NewCacheEntry>& ours);

/// The content of `cache` less every entry whose path lies below `directory`,
/// compared by component.
Result<std::string> without(const LdCache& cache, std::string_view directory);

/// Less every entry for which the function answers true.
Result<std::string> without(const LdCache& cache,
                            const std::function<bool(const CacheEntry&)>& is_unwanted);

} // namespace gpucontainer::elf
