// SPDX-License-Identifier: MIT
#include "archive.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "recording.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t block_size = 512;
constexpr std::size_t max_members = 50'000;

/// A field of a header.
struct Field {
    std::size_t offset;
    std::size_t size;

    std::string_view of(std::string_view header) const
    {
        const std::string_view bytes = header.substr(offset, size);
        return bytes.substr(0, bytes.find('\0'));
    }
};
constexpr Field name_field = {0, 100};
constexpr Field size_field = {124, 12};
constexpr Field checksum_field = {148, 8};
constexpr std::size_t type_offset = 156;
constexpr Field magic_field = {257, 6};
constexpr Field prefix_field = {345, 155};

constexpr std::array top_files = {"files.tsv",      "dev.txt",  "sys.umockdev", "ld.so.cache",
                                  "ld.so.conf.txt", "host.txt", "list.json",    "plan.json"};
constexpr std::array top_directories_of_archive = {"proc", "sys", "content"};

std::optional<std::size_t> octal(std::string_view text)
{
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    const auto number = base::to_number(text, 8);
    return number && *number <= max_archive ? std::optional(static_cast<std::size_t>(*number))
                                            : std::nullopt;
}

bool has_right_checksum(std::string_view header)
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i < block_size; ++i) {
        const bool is_own =
            i >= checksum_field.offset && i < checksum_field.offset + checksum_field.size;
        sum += is_own ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(header[i]);
    }
    return octal(checksum_field.of(header)) == sum;
}

/// Whether it is a name that a recorded host has.
bool is_known(std::string_view name)
{
    if (!is_plain_path("/" + std::string(name)))
        return false;
    const auto slash = name.find('/');
    if (slash == std::string_view::npos)
        return std::ranges::find(top_files, name) != top_files.end();
    return std::ranges::find(top_directories_of_archive, name.substr(0, slash))
           != top_directories_of_archive.end();
}

std::string name_of(std::string_view header)
{
    const std::string_view prefix = prefix_field.of(header);
    std::string name = prefix.empty() ? std::string() : std::string(prefix) + "/";
    name += name_field.of(header);
    if (name.starts_with("./"))
        name.erase(0, 2);
    return name;
}

Result<std::size_t> size_of(std::string_view header)
{
    if (!magic_field.of(header).starts_with("ustar") || !has_right_checksum(header))
        return Error(Errc::usage, "no tar archive of a recorded host");
    const auto size = octal(size_field.of(header));
    if (!size)
        return Error(Errc::usage, "a member has no usable size");
    return *size;
}

} // namespace

Result<Members> read_archive(std::string_view bytes)
{
    Members members;
    while (bytes.size() >= block_size) {
        const std::string_view header = bytes.substr(0, block_size);
        if (std::ranges::all_of(header, [](char c) { return c == '\0'; }))
            break;
        GPUCTR_TRY(const std::size_t size, size_of(header));
        bytes.remove_prefix(block_size);
        const std::size_t stored = (size + block_size - 1) / block_size * block_size;
        if (stored > bytes.size())
            return Error(Errc::usage, "the archive is cut off");
        std::string name = name_of(header);
        const char type = header[type_offset];
        const bool is_directory = type == '5';
        if (!is_directory && type != '0' && type != '\0')
            return Error(Errc::usage, base::format("'{}' is no plain file", name));
        if (!is_directory && !is_known(name))
            return Error(Errc::usage, base::format("'{}' is in no recorded host", name));
        if (members.size() == max_members)
            return Error(Errc::usage, "the archive has too many members");
        if (!is_directory)
            members.insert_or_assign(std::move(name), std::string(bytes.substr(0, size)));
        bytes.remove_prefix(stored);
    }
    if (!members.contains("files.tsv"))
        return Error(Errc::usage, "no tar archive of a recorded host");
    return members;
}

} // namespace gpucontainer::simhost
