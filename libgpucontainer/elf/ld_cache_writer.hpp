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

/// An entry to be added to a cache; a borrowed view.
struct NewCacheEntry {
    std::string_view key;  ///< soname, a plain file name
    std::string_view path; ///< absolute
    std::int32_t flags = native_cache_flags;
};

/// An entry that was removed because the loader would have preferred it to one of ours.
struct DroppedEntry {
    std::string key;
    std::string path;
    std::string hwcaps_name; ///< "x86-64-v3"
};

struct MergedCache {
    std::string bytes;
    std::vector<DroppedEntry> dropped;
};

/// The content of a loader cache in which the loader finds each of `ours` first for its key and
/// flags. If several have the same, they keep the given order. All other entries of `old` stay
/// (nullptr: there was no cache), except those for which `is_unwanted` returns true; they are
/// sorted, and invalid ones are left out. Pure.
Result<MergedCache> merge(const LdCache* old, const std::vector<NewCacheEntry>& ours,
                          const std::function<bool(const CacheEntry&)>& is_unwanted = {});

/// The content of `cache` without entries whose path is below `directory`, compared by component.
Result<std::string> without(const LdCache& cache, std::string_view directory);

/// The same, without entries for which the function returns true.
Result<std::string> without(const LdCache& cache,
                            const std::function<bool(const CacheEntry&)>& is_unwanted);

} // namespace gpucontainer::elf
