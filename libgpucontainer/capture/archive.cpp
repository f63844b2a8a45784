// SPDX-License-Identifier: MIT
#include "capture/archive.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "base/write_all.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace gpucontainer::capture {
namespace {

constexpr std::size_t block_size = 512;
constexpr std::size_t largest_archive = 64U << 20U;

/// A header of POSIX.1-2017, pax, "ustar Interchange Format".
struct Header {
    std::array<char, 100> name;
    std::array<char, 8> mode;
    std::array<char, 8> uid;
    std::array<char, 8> gid;
    std::array<char, 12> size;
    std::array<char, 12> mtime;
    std::array<char, 8> checksum;
    char type;
    std::array<char, 100> link_name;
    std::array<char, 6> magic;
    std::array<char, 2> version;
    std::array<char, 32> user;
    std::array<char, 32> group;
    std::array<char, 8> major;
    std::array<char, 8> minor;
    std::array<char, 155> prefix;
    std::array<char, 12> padding;
};
static_assert(sizeof(Header) == block_size);

template <std::size_t size>
void set(std::array<char, size>& field, std::string_view text)
{
    std::copy_n(text.begin(), std::min(size, text.size()), field.begin());
}

template <std::size_t size>
void set_number(std::array<char, size>& field, std::size_t value)
{
    set(field, base::format("{:0{}o}", value, size - 1));
}

/// Prefix and name of a path; none if it is too long to be split.
std::optional<std::pair<std::string_view, std::string_view>>
split_path(std::string_view path) noexcept
{
    if (path.size() <= sizeof(Header::name))
        return std::pair(std::string_view(), path);
    for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1))
        if (at <= sizeof(Header::prefix) && path.size() - at - 1 <= sizeof(Header::name))
            return std::pair(path.substr(0, at), path.substr(at + 1));
    return std::nullopt;
}

} // namespace

bool Archive::has_room_for(std::string_view name) noexcept
{
    const auto parts = split_path(name);
    return parts && !parts->second.empty();
}

Result<void> Archive::add(std::string_view name, std::string_view content)
{
    const auto parts = split_path(name);
    if (!parts)
        return Error::from_errno(ENAMETOOLONG, std::string(name));
    Header header = {};
    set(header.prefix, parts->first);
    set(header.name, parts->second);
    set_number(header.mode, 0644);
    set_number(header.uid, 0);
    set_number(header.gid, 0);
    set_number(header.size, content.size());
    set_number(header.mtime, 0);
    header.type = '0';
    set(header.magic, std::string_view("ustar\0", 6));
    set(header.version, "00");
    header.checksum.fill(' ');
    std::array<unsigned char, block_size> bytes = {};
    std::memcpy(bytes.data(), &header, block_size);
    set(header.checksum, base::format("{:06o}", std::accumulate(bytes.begin(), bytes.end(), 0U)));
    header.checksum[6] = '\0';
    std::memcpy(bytes.data(), &header, block_size);
    const std::size_t padding = (block_size - content.size() % block_size) % block_size;
    if (size_ + block_size + content.size() + padding > largest_archive)
        return Error(Errc::requirement, base::format("the archive would have more than {} MiB",
                                                     largest_archive >> 20U));
    GPUCTR_CHECK(write({reinterpret_cast<const char*>(bytes.data()), block_size}));
    GPUCTR_CHECK(write(content));
    return write(std::string(padding, '\0'));
}

Result<void> Archive::finish() { return write(std::string(2 * block_size, '\0')); }

Result<void> Archive::write(std::string_view bytes)
{
    if (!base::write_all(fd_, bytes))
        return Error::from_errno(errno, "write the archive");
    size_ += bytes.size();
    return {};
}

} // namespace gpucontainer::capture
