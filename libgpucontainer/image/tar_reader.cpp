// SPDX-License-Identifier: MIT
#include "image/tar_reader.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "image/file_system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

namespace gpucontainer::image {

using rootfs::EntryType;

namespace {

/// Where a header has its fields, in bytes.
struct Field {
    std::size_t at;
    std::size_t size;
};
constexpr Field name_field = {0, 100};
constexpr Field mode_field = {100, 8};
constexpr Field size_field = {124, 12};
constexpr Field mtime_field = {136, 12};
constexpr Field checksum_field = {148, 8};
constexpr std::size_t kind_at = 156;
constexpr Field target_field = {157, 100};
constexpr std::size_t magic_at = 257;
constexpr Field directory_field = {345, 155};
constexpr Field star_directory_field = {345, 131};
constexpr std::size_t star_trailer_at = 508;
// Of sparse files of GNU tar, whose headers another block of maps may follow.
constexpr std::size_t more_maps_at = 482;
constexpr Field real_size_field = {483, 12};
constexpr std::size_t even_more_maps_at = 504;

constexpr std::string_view posix_magic("ustar\0", 6);
constexpr std::string_view star_trailer("tar\0", 4);

constexpr char hard_link = '1';
constexpr char records = 'x';
constexpr char global_records = 'g';
constexpr char long_name = 'L';
constexpr char gnu_sparse = 'S';

/// No kernel takes longer names.
constexpr std::size_t longest_path_in_tar = 4096;
constexpr std::uint64_t largest_words = std::uint64_t{1} << 20U; ///< As Go's reader.

std::string_view bytes_of(std::span<const char> header, Field field)
{
    return {header.data() + field.at, field.size};
}

bool has_text(std::span<const char> header, std::size_t at, std::string_view text)
{
    return bytes_of(header, {at, text.size()}) == text;
}

std::string_view until_nul(std::string_view bytes) { return bytes.substr(0, bytes.find('\0')); }

std::optional<std::uint64_t> binary_number(std::string_view bytes)
{
    constexpr unsigned marks = 0xc0; // of the form, and of negative numbers
    std::uint64_t value = static_cast<unsigned char>(bytes.front()) & ~0x80U;
    if ((static_cast<unsigned char>(bytes.front()) & marks) == marks)
        return std::nullopt;
    for (const char byte : bytes.substr(1)) {
        if (value > std::numeric_limits<std::uint64_t>::max() >> 8U)
            return std::nullopt;
        value = value << 8U | static_cast<unsigned char>(byte);
    }
    return value;
}

/// Octal digits between blanks and NULs, or the binary form of GNU tar. None is 0.
std::optional<std::uint64_t> number_of(std::string_view bytes)
{
    if ((static_cast<unsigned char>(bytes.front()) & 0x80U) != 0)
        return binary_number(bytes);
    constexpr std::string_view around(" \0", 2);
    const std::size_t first = std::min(bytes.find_first_not_of(around), bytes.size());
    bytes = until_nul(bytes.substr(first));
    bytes = bytes.substr(0, bytes.find_last_not_of(' ') + 1);
    std::uint64_t value = 0;
    for (const char digit : bytes) {
        if (digit < '0' || digit > '7')
            return std::nullopt;
        value = value << 3U | static_cast<unsigned>(digit - '0');
    }
    return value;
}

/// Old programs added up signed bytes.
bool has_its_checksum(std::span<const char> header)
{
    const auto said = number_of(bytes_of(header, checksum_field));
    std::int64_t plain = 0;
    std::int64_t of_signed = 0;
    for (std::size_t i = 0; i < header.size(); ++i) {
        const bool is_sum = i >= checksum_field.at && i < checksum_field.at + checksum_field.size;
        const char byte = is_sum ? ' ' : header[i];
        plain += static_cast<unsigned char>(byte);
        of_signed += static_cast<signed char>(byte);
    }
    return said
           && (*said == static_cast<std::uint64_t>(plain)
               || *said == static_cast<std::uint64_t>(of_signed));
}

std::string path_in_header(std::span<const char> header)
{
    const std::string name(until_nul(bytes_of(header, name_field)));
    std::string_view directory;
    if (has_text(header, magic_at, posix_magic))
        directory = until_nul(bytes_of(header, has_text(header, star_trailer_at, star_trailer)
                                                   ? star_directory_field
                                                   : directory_field));
    return directory.empty() ? name : std::string(directory) + "/" + name;
}

/// `none` for a hard link; nothing for what containers are not made of either.
std::optional<EntryType> type_of_kind(char kind, std::string_view path)
{
    switch (kind) {
    case '\0': // before POSIX
        return path.ends_with('/') ? EntryType::directory : EntryType::regular;
    case '0':
    case '7':
    case gnu_sparse:
        return EntryType::regular;
    case hard_link:
        return EntryType::none;
    case '2':
        return EntryType::link;
    case '3':
        return EntryType::character;
    case '4':
    case '6':
        return EntryType::other;
    case '5':
        return EntryType::directory;
    default:
        return std::nullopt;
    }
}

bool is_sayable(const std::string& path)
{
    return path.size() <= longest_path_in_tar && path.find('\0') == std::string::npos;
}

} // namespace

/// What blocks before a header say in place of it.
struct TarReader::Words {
    std::optional<std::string> path;
    std::optional<std::string> target;
    std::optional<std::uint64_t> size;
    std::optional<std::uint64_t> mtime;
    std::optional<std::uint64_t> real_size; ///< Of a sparse file,
    std::optional<std::string> real_path;   ///< whose path here is not its own.
    bool is_sparse = false;

    Result<void> set(std::string_view key, std::string_view value);
    Result<void> set_all(std::string_view text);
};

Result<void> TarReader::Words::set(std::string_view key, std::string_view value)
{
    using Text = std::optional<std::string> Words::*;
    using Size = std::optional<std::uint64_t> Words::*;
    constexpr std::array<std::pair<std::string_view, Text>, 3> texts = {
        std::pair("path", &Words::path), std::pair("linkpath", &Words::target),
        std::pair("GNU.sparse.name", &Words::real_path)};
    constexpr std::array<std::pair<std::string_view, Size>, 3> sizes = {
        std::pair("size", &Words::size), std::pair("GNU.sparse.realsize", &Words::real_size),
        std::pair("GNU.sparse.size", &Words::real_size)};
    is_sparse = is_sparse || key.starts_with("GNU.sparse.");
    if (value.empty()) // the header counts
        return {};
    for (const auto& [name, member] : texts)
        if (key == name)
            this->*member = value;
    if (key == "mtime")
        mtime = base::to_number(value.substr(0, value.find('.')));
    for (const auto& [name, member] : sizes)
        if (key == name && !(this->*member = base::to_number(value)))
            return error_of(EBADMSG);
    return {};
}

/// Records, each "LENGTH KEY=VALUE\n" with its own length.
Result<void> TarReader::Words::set_all(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t blank = text.find(' ');
        const auto length = base::to_number(text.substr(0, blank));
        if (blank == std::string_view::npos || !length || *length < blank + 2
            || *length > text.size() || text[*length - 1] != '\n')
            return error_of(EBADMSG);
        const std::string_view record = text.substr(blank + 1, *length - blank - 2);
        const std::size_t equals = record.find('=');
        if (equals == std::string_view::npos)
            return error_of(EBADMSG);
        GPUCTR_CHECK(set(record.substr(0, equals), record.substr(equals + 1)));
        text.remove_prefix(*length);
    }
    return {};
}

bool begins_like_tar(std::string_view bytes)
{
    return bytes.size() >= tar_header_size && has_its_checksum(bytes.substr(0, tar_header_size));
}

/// False at the end: a block of zeros, or nothing more.
Result<bool> TarReader::read_header(Block& header)
{
    if (at_ == end_)
        return false;
    if (end_ - at_ < header.size())
        return error_of(EBADMSG);
    GPUCTR_CHECK(file_.read(at_, header));
    at_ += header.size();
    if (std::ranges::all_of(header, [](char byte) { return byte == '\0'; }))
        return false;
    return has_its_checksum(header) ? Result<bool>(true) : error_of(EBADMSG);
}

/// The last block may end early.
Result<void> TarReader::skip(std::uint64_t size)
{
    if (size > end_ - at_)
        return error_of(EBADMSG);
    const std::uint64_t rest = size % Block().size();
    at_ += size;
    at_ += std::min(end_ - at_, rest == 0 ? 0 : Block().size() - rest);
    return {};
}

Result<std::string> TarReader::read_text(std::uint64_t size)
{
    if (size > largest_words || size > end_ - at_)
        return error_of(EBADMSG);
    std::string text(size, '\0');
    GPUCTR_CHECK(file_.read(at_, text));
    GPUCTR_CHECK(skip(size));
    return text;
}

/// Reads what is said for the next header.
Result<void> TarReader::read_words(const Block& header, Words& words)
{
    const auto size = number_of(bytes_of(header, size_field));
    if (!size)
        return error_of(EBADMSG);
    const char kind = header[kind_at];
    if (kind == global_records)
        return skip(*size);
    GPUCTR_TRY(const std::string text, read_text(*size));
    if (kind == records)
        return words.set_all(text);
    (kind == long_name ? words.path : words.target) = until_nul(text);
    return {};
}

/// Goes past the blocks of maps of a sparse file, which no size counts.
Result<void> TarReader::pass_maps(const Block& header)
{
    bool is_more = header[more_maps_at] != '\0';
    while (is_more) {
        Block maps = {};
        if (end_ - at_ < maps.size())
            return error_of(EBADMSG);
        GPUCTR_CHECK(file_.read(at_, maps));
        at_ += maps.size();
        is_more = maps[even_more_maps_at] != '\0';
    }
    return {};
}

/// Reads a header but for what it says of a content.
Result<void> TarReader::read_names(const Block& header, Words& words, TarEntry& entry)
{
    const auto said = words.real_path ? std::move(words.real_path) : std::move(words.path);
    entry.path = said ? *said : path_in_header(header);
    const auto type = type_of_kind(header[kind_at], entry.path);
    const auto mode = number_of(bytes_of(header, mode_field));
    const auto mtime = words.mtime ? words.mtime : number_of(bytes_of(header, mtime_field));
    if (!type || !mode)
        return error_of(EBADMSG);
    entry.type = *type;
    entry.mode = static_cast<std::uint32_t>(*mode & 07777U);
    entry.mtime = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(mtime.value_or(0), std::numeric_limits<std::uint32_t>::max()));
    if (*type == EntryType::none || *type == EntryType::link)
        entry.target = words.target ? *std::move(words.target)
                                    : std::string(until_nul(bytes_of(header, target_field)));
    return is_sayable(entry.path) && is_sayable(entry.target) ? Result<void>() : error_of(EBADMSG);
}

/// Reads what a header says of the content behind it, and passes over that.
Result<void> TarReader::read_content(const Block& header, Words& words, TarEntry& entry)
{
    const auto size = words.size ? words.size : number_of(bytes_of(header, size_field));
    if (!size)
        return error_of(EBADMSG);
    if (header[kind_at] == gnu_sparse) {
        words.is_sparse = true;
        words.real_size = number_of(bytes_of(header, real_size_field));
        GPUCTR_CHECK(pass_maps(header));
    }
    entry.is_sparse = words.is_sparse;
    entry.content = {at_, *size};
    entry.size = entry.is_sparse ? words.real_size.value_or(*size) : *size;
    return skip(*size);
}

Result<bool> TarReader::next(TarEntry& entry)
{
    constexpr std::string_view before_headers("xgLK");
    Words words;
    Block header = {};
    for (;;) {
        GPUCTR_TRY(const bool is_there, read_header(header));
        if (!is_there)
            return false;
        if (before_headers.find(header[kind_at]) == std::string_view::npos)
            break;
        GPUCTR_CHECK(read_words(header, words));
    }
    entry = {};
    GPUCTR_CHECK(read_names(header, words, entry));
    if (entry.type == EntryType::regular)
        GPUCTR_CHECK(read_content(header, words, entry));
    return true;
}

} // namespace gpucontainer::image
