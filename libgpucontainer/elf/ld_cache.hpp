// SPDX-License-Identifier: MIT
#pragma once

#include "base/lazy_file.hpp"
#include "base/result.hpp"
#include "elf/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// Largest loader cache that is read or written. A distribution with
/// everything installed has some ten thousand entries of about 100 bytes.
inline constexpr std::size_t max_cache_size = std::size_t{16} << 20U;
inline constexpr std::size_t max_cache_entries = 100'000;

/// Flags of the libraries that a program of this build's machine loads.
inline constexpr std::int32_t native_cache_flags = own_machine().cache_flags;

/// An entry of the loader cache. Borrows from the cache.
struct CacheEntry {
    std::string_view key;         ///< soname
    std::string_view value;       ///< path
    std::int32_t flags = 0;       ///< library type and machine
    std::uint32_t os_version = 0; ///< oldest kernel, 0 for any
    std::uint64_t hwcap = 0;      ///< as in the file
    std::string_view hwcaps_name; ///< glibc-hwcaps subdirectory; empty if none
    bool operator==(const CacheEntry&) const = default;
};

/// The loader cache of a root file system (/etc/ld.so.cache), whose bytes are not trusted. Reads
/// the format of glibc 2.2 and later, alone or after the older one, and the older one alone.
class LdCache {
public:
    /// Checks the header, the bounds of the tables and the extensions. Does not check the entries,
    /// so the cost does not depend on their number. Fails with Errc::rootfs, and with an errno
    /// value if the file could not be read.
    static Result<LdCache> parse(base::LazyFile file);
    static Result<LdCache> parse(const std::string& bytes) { return parse(base::LazyFile(bytes)); }

    /// Number of entries according to the header, valid or not.
    std::size_t size() const noexcept { return layout_.count; }

    /// The entry at `index`; none if it points outside the string table.
    std::optional<CacheEntry> at(std::size_t index) const;

    /// All valid entries in the order of the cache.
    std::vector<CacheEntry> entries() const;

    /// What the loader finds for `name`, in the order of the cache. Uses the same binary search:
    /// in a cache that is not sorted, neither may find anything.
    std::vector<CacheEntry> lookup(std::string_view name,
                                   std::int32_t flags = native_cache_flags) const;

    /// The same for libraries of any kind and machine.
    std::vector<CacheEntry> lookup_all(std::string_view name) const;

    /// Program that wrote the cache; empty if unknown.
    std::string_view generator() const;

    /// An errno value if entries are missing because the file could not be read; else 0.
    int read_error() const noexcept { return file_.read_error(); }

    /// The string table, into which the entries point.
    std::string_view strings() const;

private:
    /// All offsets are from the start of the file.
    struct Layout {
        std::size_t entries;
        std::size_t count;
        std::size_t entry_size;
        std::size_t string_base; ///< base of string offsets
        std::size_t strings_begin;
        std::size_t strings_end;
    };
    struct Section {
        std::size_t offset = 0;
        std::size_t size = 0;
    };

    explicit LdCache(base::LazyFile file) noexcept : file_(std::move(file)) {}

    Result<void> read_tables();
    static Result<Layout> find_tables(const base::LazyFile& file);
    static Result<Layout> find_new_tables(const base::LazyFile& file, std::size_t start);
    Result<void> read_extensions(std::size_t offset);
    Result<void> check_extensions() const;
    std::optional<std::string_view> string_at(std::uint32_t offset, std::size_t limit) const;
    std::optional<std::string_view> key_at(std::size_t index) const;
    std::optional<std::string_view> hwcaps_name(std::uint64_t hwcap) const;

    base::LazyFile file_;
    Layout layout_ = {};
    Section generator_;
    Section hwcaps_;
};

/// Whether the loader finds the same in two caches. Their texts may differ even so, because names
/// that are no longer used stay in them.
bool are_alike(const std::string& left, const std::string& right);

/// The loader's order of names: as text, with runs of digits as numbers. Negative if `left` comes
/// first in ascending order. The cache is in descending order.
int compare_names(std::string_view left, std::string_view right) noexcept;

} // namespace gpucontainer::elf
