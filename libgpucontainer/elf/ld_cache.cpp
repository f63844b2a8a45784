// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "elf/ld_cache_format.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t max_key_length = NAME_MAX;
constexpr std::size_t max_path_length = PATH_MAX - 1;
constexpr std::size_t max_entries_per_name = 256;
constexpr std::size_t max_extension_sections = 32;
constexpr std::size_t max_hwcaps_names = 1024;
constexpr std::size_t max_generator_length = 4096;

Error bad_cache(std::string what) { return {Errc::rootfs, "loader cache: " + std::move(what)}; }

bool fits(const base::LazyFile& file, std::size_t offset, std::size_t size)
{
    return offset <= file.size() && size <= file.size() - offset;
}

bool holds(const base::LazyFile& file, std::size_t offset, std::string_view text)
{
    return file.view(offset, text.size()) == text;
}

/// The caller has checked the bounds.
template <typename T>
T load(const base::LazyFile& file, std::size_t offset)
{
    T value;
    std::memcpy(&value, file.view(offset, sizeof value).data(), sizeof value);
    return value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a run of digits. Wraps around like the loader's int, so that both have the same order of
/// names with very long numbers.
std::int32_t take_number(std::string_view text, std::size_t& position)
{
    std::uint32_t value = 0;
    while (position < text.size() && is_digit(text[position]))
        value = value * 10 + static_cast<std::uint32_t>(text[position++] - '0');
    return static_cast<std::int32_t>(value);
}

char char_at(std::string_view text, std::size_t position)
{
    return position < text.size() ? text[position] : '\0';
}

/// Length of the common start of both, up to a number that may differ.
std::size_t common_length(std::string_view left, std::string_view right)
{
    const auto difference = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    auto length = static_cast<std::size_t>(difference.first - left.begin());
    while (length > 0 && is_digit(left[length - 1]))
        --length;
    return length;
}

} // namespace

int compare_names(std::string_view left, std::string_view right) noexcept
{
    std::size_t l = common_length(left, right);
    std::size_t r = l;
    while (l < left.size()) {
        const char a = left[l];
        const char b = char_at(right, r);
        if (is_digit(a) != is_digit(b))
            return static_cast<int>(is_digit(a)) - static_cast<int>(is_digit(b));
        if (is_digit(a)) {
            const std::int32_t left_number = take_number(left, l);
            const std::int32_t right_number = take_number(right, r);
            if (left_number != right_number)
                return left_number < right_number ? -1 : 1;
            continue;
        }
        if (a != b)
            return a - b; // char is signed or not, as in the loader
        ++l;
        ++r;
    }
    return '\0' - char_at(right, r);
}

Result<LdCache> LdCache::parse(base::LazyFile file)
{
    if (file.size() > max_cache_size)
        return bad_cache("too large");
    LdCache cache(std::move(file));
    auto read = cache.read_tables();
    // A part that could not be read looks like damage.
    if (cache.read_error() != 0)
        return Error::from_errno(cache.read_error(), "loader cache", Errc::rootfs);
    GPUCTR_CHECK(std::move(read));
    return cache;
}

Result<void> LdCache::read_tables()
{
    GPUCTR_TRY(layout_, find_tables(file_));
    if (layout_.count > max_cache_entries)
        return bad_cache("too many entries");
    if (layout_.entry_size != sizeof(format::Entry))
        return {};
    return read_extensions(load<format::Header>(file_, layout_.string_base).extensions);
}

Result<LdCache::Layout> LdCache::find_tables(const base::LazyFile& file)
{
    if (holds(file, 0, format::magic))
        return find_new_tables(file, 0);
    if (!holds(file, 0, format::old_magic))
        return bad_cache("unknown format");
    if (file.size() < sizeof(format::OldHeader))
        return bad_cache("ends within the header");

    const std::size_t count = load<format::OldHeader>(file, 0).count;
    const std::size_t available = file.size() - sizeof(format::OldHeader);
    if (count > available / sizeof(format::OldEntry))
        return bad_cache(base::format("{} entries do not fit", count));
    const std::size_t end = sizeof(format::OldHeader) + count * sizeof(format::OldEntry);
    const std::size_t aligned = (end + 7) / 8 * 8;
    if (holds(file, aligned, format::magic))
        return find_new_tables(file, aligned);
    return Layout{
        sizeof(format::OldHeader), count, sizeof(format::OldEntry), end, end, file.size()};
}

Result<LdCache::Layout> LdCache::find_new_tables(const base::LazyFile& file, std::size_t start)
{
    if (!fits(file, start, sizeof(format::Header)))
        return bad_cache("ends within the header");
    const auto header = load<format::Header>(file, start);
    if (header.byte_order != 0 && (header.byte_order & 3U) != format::own_byte_order)
        return bad_cache("foreign byte order");
    const std::size_t entries = start + sizeof(format::Header);
    if (header.count > (file.size() - entries) / sizeof(format::Entry))
        return bad_cache(base::format("{} entries do not fit", header.count));
    const std::size_t strings = entries + header.count * sizeof(format::Entry);
    if (!fits(file, strings, header.strings_size))
        return bad_cache("strings do not fit");
    return Layout{entries, header.count, sizeof(format::Entry),
                  start,   strings,      strings + header.strings_size};
}

Result<void> LdCache::read_extensions(std::size_t offset)
{
    if (offset == 0)
        return {};
    if (offset % 4 != 0 || !fits(file_, offset, sizeof(format::ExtensionHeader)))
        return bad_cache("extensions out of place");
    const auto header = load<format::ExtensionHeader>(file_, offset);
    if (header.magic != format::extension_magic)
        return bad_cache("extensions without their magic number");
    offset += sizeof header;
    if (header.count > max_extension_sections
        || !fits(file_, offset, header.count * sizeof(format::ExtensionSection)))
        return bad_cache(base::format("{} extensions do not fit", header.count));

    for (std::size_t i = 0; i < header.count; ++i) {
        const auto section =
            load<format::ExtensionSection>(file_, offset + i * sizeof(format::ExtensionSection));
        if (!fits(file_, section.offset, section.size))
            return bad_cache("extension outside the file");
        if (section.tag == format::generator_tag)
            generator_ = {section.offset, section.size};
        if (section.tag == format::hwcaps_tag)
            hwcaps_ = {section.offset, section.size};
    }
    return check_extensions();
}

Result<void> LdCache::check_extensions() const
{
    if (generator_.size > max_generator_length)
        return bad_cache("name of the generator is too long");
    if (hwcaps_.offset % 4 != 0 || hwcaps_.size % 4 != 0 || hwcaps_.size / 4 > max_hwcaps_names)
        return bad_cache("list of glibc-hwcaps directories is invalid");
    return {};
}

std::optional<CacheEntry> LdCache::at(std::size_t index) const
{
    if (index >= layout_.count)
        return std::nullopt;
    format::Entry raw = {};
    const auto bytes = file_.view(layout_.entries + index * layout_.entry_size, layout_.entry_size);
    std::memcpy(&raw, bytes.data(), bytes.size());
    const auto key = string_at(raw.key, max_key_length);
    const auto value = string_at(raw.value, max_path_length);
    const auto hwcaps = hwcaps_name(raw.hwcap);
    if (!key || key->empty() || !value || value->empty() || !hwcaps)
        return std::nullopt;
    return CacheEntry{*key, *value, raw.flags, raw.os_version, raw.hwcap, *hwcaps};
}

std::vector<CacheEntry> LdCache::entries() const
{
    std::vector<CacheEntry> valid;
    valid.reserve(layout_.count);
    for (std::size_t i = 0; i < layout_.count; ++i) {
        if (const auto entry = at(i))
            valid.push_back(*entry);
    }
    return valid;
}

std::vector<CacheEntry> LdCache::lookup(std::string_view name, std::int32_t flags) const
{
    std::vector<CacheEntry> found = lookup_all(name);
    std::erase_if(found, [&](const CacheEntry& entry) { return entry.flags != flags; });
    return found;
}

std::vector<CacheEntry> LdCache::lookup_all(std::string_view name) const
{
    std::size_t low = 0;
    std::size_t high = layout_.count;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        const auto key = key_at(middle);
        if (!key)
            return {};
        if (compare_names(name, *key) < 0)
            low = middle + 1;
        else
            high = middle;
    }

    std::vector<CacheEntry> found;
    for (std::size_t i = low; i < low + max_entries_per_name; ++i) {
        const auto key = key_at(i);
        if (!key || compare_names(name, *key) != 0)
            break;
        if (const auto entry = at(i))
            found.push_back(*entry);
    }
    return found;
}

std::string_view LdCache::generator() const
{
    return file_.view(generator_.offset, generator_.size);
}

std::string_view LdCache::strings() const
{
    return file_.view(layout_.strings_begin, layout_.strings_end - layout_.strings_begin);
}

/// Offsets are 32-bit and the file is small, so the sum cannot wrap.
std::optional<std::string_view> LdCache::string_at(std::uint32_t offset, std::size_t limit) const
{
    const std::size_t begin = layout_.string_base + std::size_t{offset};
    if (begin < layout_.strings_begin || begin >= layout_.strings_end)
        return std::nullopt;
    // Few strings are longer than the first size, so that the rest is not read.
    constexpr std::size_t usual_size = 128;
    for (const std::size_t size : {usual_size, limit + 1}) {
        const auto rest =
            file_.view(begin, std::min({layout_.strings_end - begin, size, limit + 1}));
        if (const std::size_t length = rest.find('\0'); length != std::string_view::npos)
            return rest.substr(0, length);
    }
    return std::nullopt;
}

std::optional<std::string_view> LdCache::key_at(std::size_t index) const
{
    if (index >= layout_.count)
        return std::nullopt;
    const std::size_t entry = layout_.entries + index * layout_.entry_size;
    return string_at(load<std::uint32_t>(file_, entry + offsetof(format::Entry, key)),
                     max_key_length);
}

/// Name of the entry's glibc-hwcaps directory; empty if it is in none, none if it is unknown.
std::optional<std::string_view> LdCache::hwcaps_name(std::uint64_t hwcap) const
{
    if (!format::is_hwcaps_extension(hwcap))
        return std::string_view();
    const auto index = static_cast<std::uint32_t>(hwcap);
    if (index >= hwcaps_.size / 4)
        return std::nullopt;
    const auto name = string_at(load<std::uint32_t>(file_, hwcaps_.offset + std::size_t{index} * 4),
                                max_key_length);
    return name && name->empty() ? std::nullopt : name;
}

bool are_alike(const std::string& left, const std::string& right)
{
    const auto first = LdCache::parse(left);
    const auto second = LdCache::parse(right);
    return first && second && first->entries() == second->entries();
}

} // namespace gpucontainer::elf
