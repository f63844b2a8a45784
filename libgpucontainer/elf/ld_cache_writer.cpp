// SPDX-License-Identifier: MIT
#include "elf/ld_cache_writer.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/ld_cache_format.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <span>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t max_own_entries = 100'000;
constexpr std::string_view own_generator = "libgpucontainer";

/// The order of the loader: names descending, and among equal names flags descending. For old and
/// new entries.
struct ComesBefore {
    template <typename Left, typename Right>
    bool operator()(const Left& left, const Right& right) const noexcept
    {
        const int order = compare_names(left.key, right.key);
        return order != 0 ? order > 0 : left.flags > right.flags;
    }
};

/// The complete order of entries. Entries of glibc-hwcaps directories come first, by name, because
/// the loader stops at the first plain entry.
bool precedes(const CacheEntry& left, const CacheEntry& right) noexcept
{
    const int order = compare_names(left.key, right.key);
    if (order != 0)
        return order > 0;
    if (left.flags != right.flags)
        return left.flags > right.flags;
    if (left.hwcaps_name.empty() || right.hwcaps_name.empty())
        return !left.hwcaps_name.empty() && right.hwcaps_name.empty();
    return left.hwcaps_name < right.hwcaps_name;
}

std::vector<CacheEntry> sorted_entries(const LdCache& cache)
{
    std::vector<CacheEntry> entries = cache.entries();
    if (!std::is_sorted(entries.begin(), entries.end(), precedes))
        std::stable_sort(entries.begin(), entries.end(), precedes);
    return entries;
}

template <typename T>
T load(const std::string& bytes, std::size_t offset)
{
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <typename T>
void store(std::string& bytes, std::size_t offset, const T& value)
{
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// Collects entries in their final order and writes the cache. Writes entries directly to their
/// place and copies the old string table as a whole, because a merge spends most time on new
/// memory.
class CacheBuilder {
public:
    CacheBuilder(const LdCache* old, std::size_t expected_entries)
        : old_strings_(old != nullptr ? old->strings() : std::string_view()),
          generator_(old != nullptr ? old->generator() : own_generator)
    {
        bytes_.reserve(sizeof(format::Header) + expected_entries * bytes_per_entry
                       + old_strings_.size());
        bytes_.resize(sizeof(format::Header));
    }

    void add_old(const CacheEntry& entry)
    {
        if (!entry.hwcaps_name.empty()) {
            hwcaps_.try_emplace(entry.hwcaps_name, 0);
            with_hwcaps_.emplace_back(bytes_.size(), entry.hwcaps_name);
        }
        add({entry.flags, offset_of(entry.key), offset_of(entry.value), entry.os_version,
             entry.hwcap});
    }

    /// For most libraries `path` ends in `key`; then both share their bytes.
    void add_ours(const NewCacheEntry& entry)
    {
        const auto path = append(entry.path);
        const auto shared = static_cast<std::uint32_t>(entry.path.size() - entry.key.size());
        const auto key = entry.path.ends_with(entry.key) ? path + shared : append(entry.key);
        add({entry.flags, key, path, 0, 0});
    }

    Result<std::string> write() &&;

private:
    /// Enough for an entry and an average path of ours.
    static constexpr std::size_t bytes_per_entry = sizeof(format::Entry) + 8;

    void add(const format::Entry& entry)
    {
        bytes_.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    }

    std::uint32_t offset_of(std::string_view text) const
    {
        return static_cast<std::uint32_t>(text.data() - old_strings_.data());
    }

    /// Our strings follow the old ones and their final NUL.
    std::uint32_t append(std::string_view text)
    {
        const std::size_t offset = old_strings_.size() + 1 + own_strings_.size();
        own_strings_.append(text).push_back('\0');
        return static_cast<std::uint32_t>(offset);
    }

    void number_hwcaps();
    void place_strings();
    void write_extensions(std::uint32_t strings_offset);

    std::string_view old_strings_;
    std::string_view generator_;
    std::string bytes_;
    std::string own_strings_;
    std::map<std::string_view, std::uint32_t> hwcaps_;
    std::vector<std::pair<std::size_t, std::string_view>> with_hwcaps_; ///< entry, directory
};

/// The loader compares the directory names with a sorted list of its own: they are in ascending
/// order, and only those in use are kept.
void CacheBuilder::number_hwcaps()
{
    std::uint32_t next = 0;
    for (auto& [name, index] : hwcaps_)
        index = next++;
    for (const auto& [position, name] : with_hwcaps_) {
        auto entry = load<format::Entry>(bytes_, position);
        entry.hwcap = (entry.hwcap & ~std::uint64_t{UINT32_MAX}) | hwcaps_.at(name);
        store(bytes_, position, entry);
    }
}

/// String offsets counted from the string table until here.
void CacheBuilder::place_strings()
{
    const auto shift = static_cast<std::uint32_t>(bytes_.size());
    for (std::size_t at = sizeof(format::Header); at < bytes_.size(); at += sizeof(format::Entry)) {
        auto entry = load<format::Entry>(bytes_, at);
        entry.key += shift;
        entry.value += shift;
        store(bytes_, at, entry);
    }
    bytes_.append(old_strings_).append(1, '\0').append(own_strings_);
}

Result<std::string> CacheBuilder::write() &&
{
    number_hwcaps();
    const std::size_t strings_offset = bytes_.size();
    place_strings();

    format::Header header = {};
    std::ranges::copy(format::magic, header.magic.begin());
    header.count =
        static_cast<std::uint32_t>((strings_offset - sizeof header) / sizeof(format::Entry));
    header.strings_size = static_cast<std::uint32_t>(bytes_.size() - strings_offset);
    header.byte_order = format::own_byte_order;
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    header.extensions = static_cast<std::uint32_t>(bytes_.size());
    store(bytes_, 0, header);
    write_extensions(static_cast<std::uint32_t>(strings_offset));
    if (bytes_.size() > max_cache_size || header.count > max_cache_entries)
        return Error(Errc::rootfs, "loader cache: too large");
    return std::move(bytes_);
}

void CacheBuilder::write_extensions(std::uint32_t strings_offset)
{
    constexpr std::size_t directory_size =
        sizeof(format::ExtensionHeader) + 2 * sizeof(format::ExtensionSection);
    std::size_t at = bytes_.size();
    const std::size_t names = at + directory_size;
    const std::size_t names_size = hwcaps_.size() * sizeof(std::uint32_t);
    bytes_.resize(names + names_size);

    const auto put = [&](const auto& value) {
        store(bytes_, at, value);
        at += sizeof value;
    };
    const auto put_section = [&](std::uint32_t tag, std::size_t offset, std::size_t size) {
        put(format::ExtensionSection{tag, 0, static_cast<std::uint32_t>(offset),
                                     static_cast<std::uint32_t>(size)});
    };
    put(format::ExtensionHeader{format::extension_magic, 2});
    put_section(format::generator_tag, names + names_size, generator_.size());
    put_section(format::hwcaps_tag, names, names_size);
    for (const auto& [name, index] : hwcaps_)
        put(strings_offset + offset_of(name));
    bytes_.append(generator_);
}

Result<void> check(const NewCacheEntry& entry)
{
    const auto has = [](std::string_view text, char c) {
        return text.find(c) != std::string_view::npos;
    };
    if (entry.key.empty() || entry.key.size() > NAME_MAX || has(entry.key, '/')
        || has(entry.key, '\0'))
        return Error(Errc::usage, base::format("loader cache: \"{}\" is no soname", entry.key));
    if (!entry.path.starts_with('/') || entry.path.size() >= PATH_MAX || has(entry.path, '\0'))
        return Error(Errc::usage,
                     base::format("loader cache: \"{}\" is no absolute path", entry.path));
    return {};
}

/// Sorts entries in the order of the cache. Equal ones keep the given order.
Result<std::vector<NewCacheEntry>> prepare(std::vector<NewCacheEntry> ours)
{
    if (ours.size() > max_own_entries)
        return Error(Errc::usage, "loader cache: too many entries");
    for (const NewCacheEntry& entry : ours)
        GPUCTR_CHECK(check(entry));
    std::stable_sort(ours.begin(), ours.end(), ComesBefore());
    return ours;
}

/// Consecutive entries of the same name and type.
template <typename Entry>
using Group = std::span<const Entry>;

bool contains(Group<NewCacheEntry> group, std::string_view path)
{
    return std::ranges::find(group, path, &NewCacheEntry::path) != group.end();
}

/// Writes ours first, then those of the old cache that may stay.
void add_group(CacheBuilder& builder, Group<NewCacheEntry> ours, Group<CacheEntry> old,
               std::vector<DroppedEntry>& dropped)
{
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (!contains(ours.first(i), ours[i].path))
            builder.add_ours(ours[i]);
    }
    for (const CacheEntry& entry : old) {
        if (!entry.hwcaps_name.empty())
            dropped.push_back(
                {std::string(entry.key), std::string(entry.value), std::string(entry.hwcaps_name)});
        else if (!contains(ours, entry.value))
            builder.add_old(entry);
    }
}

} // namespace

Result<MergedCache> merge(const LdCache* old, const std::vector<NewCacheEntry>& ours,
                          const std::function<bool(const CacheEntry&)>& is_unwanted)
{
    GPUCTR_TRY(const auto wanted, prepare(ours));
    auto kept = old != nullptr ? sorted_entries(*old) : std::vector<CacheEntry>();
    if (is_unwanted)
        std::erase_if(kept, is_unwanted);
    CacheBuilder builder(old, kept.size() + wanted.size());
    std::vector<DroppedEntry> dropped;

    auto next = kept.begin();
    for (auto first = wanted.begin(); first != wanted.end();) {
        const auto last = std::upper_bound(first, wanted.end(), *first, ComesBefore());
        const auto [begin, end] = std::equal_range(next, kept.end(), *first, ComesBefore());
        std::for_each(next, begin, [&](const auto& entry) { builder.add_old(entry); });
        add_group(builder, {first, last}, {begin, end}, dropped);
        first = last;
        next = end;
    }
    std::for_each(next, kept.end(), [&](const auto& entry) { builder.add_old(entry); });
    GPUCTR_TRY(std::string bytes, std::move(builder).write());
    return MergedCache{std::move(bytes), std::move(dropped)};
}

Result<std::string> without(const LdCache& cache, std::string_view directory)
{
    return without(cache,
                   [&](const CacheEntry& entry) { return base::is_below(entry.value, directory); });
}

Result<std::string> without(const LdCache& cache,
                            const std::function<bool(const CacheEntry&)>& is_unwanted)
{
    const std::vector<CacheEntry> entries = sorted_entries(cache);
    CacheBuilder builder(&cache, entries.size());
    for (const CacheEntry& entry : entries) {
        if (!is_unwanted(entry))
            builder.add_old(entry);
    }
    return std::move(builder).write();
}

} // namespace gpucontainer::elf
