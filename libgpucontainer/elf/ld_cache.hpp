// SPDX-License-Identifier: MIT
#pragma once

#include "base/lazy_file.hpp"
#include "base/result.hpp"

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
extern const std::int32_t native_cache_flags;

/// One line of the loader cache. Borrows from the cache it came from.
struct CacheEntry {
    std::string_view key;         ///< soname
    std::string_view value;       ///< path
    std::int32_t flags = 0;       ///< library type and machine
    std::uint32_t os_version = 0; ///< oldest kernel, 0 for any
    std::uint64_t hwcap = 0;      ///< as in the file
    std::string_view hwcaps_name; ///< glibc-hwcaps subdirectory; empty if none
};

/// The loader cache of a root file system (/etc/ld.so.cache), from bytes that
/// nobody vouches for: the format of glibc 2.2 and later, alone or behind the
/// older one, and the older one alone.
class LdCache {
public:
    /// Checks the header, the bounds of the tables and the extensions, not the
    /// entries, so the cost does not depend on their number. Fails with
    /// Errc::rootfs, and with an errno value where the file could not be read.
    static Result<LdCache> parse(base::LazyFile file);
    static Result<LdCache> parse(const std::string& bytes) { return parse(base::LazyFile(bytes)); }

    /// Number of entries according to the header, valid or not.
    std::size_t size() const noexcept { return layout_.count; }

    /// The entry at `index`; none when it points outside the string table.
    std::optional<CacheEntry> at(std::size_t index) const;

    /// All valid entries in the order of the cache.
    std::vector<CacheEntry> entries() const;

    /// What the loader finds for `name`, in the order of the cache, by the same
    /// binary search: in a cache out of order neither may find anything.
    std::vector<CacheEntry> lookup(std::string_view name,
                                   std::int32_t flags = native_cache_flags) const;

    /// Who wrote the cache; empty when unknown.
    std::string_view generator() const;

    /// An errno value where entries are missing as the file could not be read; else 0.
    int read_error() const noexcept { return file_.read_error(); }

    /// The string table, into which the entries point.
    std::string_view strings() const;

private:
    /// Everything counted from the start of the file.
    struct Layout {
        std::size_t entries;
        std::size_t count;
        std::size_t entry_size;
        std::size_t string_base; ///< what string offsets count from
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

/// The loader's order of names: as text, but runs of digits as numbers.
/// Negative when `left` comes first in ascending order; the cache descends.
int compare_names(std::string_view left, std::string_view right) noexcept;

} // namespace gpucontainer::elf
