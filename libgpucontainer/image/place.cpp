// SPDX-License-Identifier: MIT
#include "image/place.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "image/archive.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::image {
namespace {

/// The Singularity Image Format, version 1: a header, and a table with a row for each object in the
/// file. All numbers are little-endian; nothing is aligned.
namespace sif {

constexpr std::size_t header_size = 128;
constexpr std::size_t magic_at = 32;
constexpr std::string_view magic("SIF_MAGIC\0"
                                 "01\0",
                                 13); // with its version
constexpr std::size_t rows_at = 88;   // number of rows
constexpr std::size_t table_at = 96;  // where they begin

constexpr std::size_t row_size = 585;
constexpr std::size_t used_at = 4;
constexpr std::size_t offset_at = 17;
constexpr std::size_t size_at = 25;
constexpr std::size_t file_system_at = 201; // of a partition
constexpr std::size_t purpose_at = 205;     // of a partition
constexpr std::uint64_t most_rows = 4096;   // files have 48

constexpr std::uint32_t partition = 0x4004;
constexpr std::uint32_t signature = 0x4005;
constexpr std::uint32_t oci_index = 0x400a;
constexpr std::uint32_t of_root = 2; // purposes
constexpr std::uint32_t of_overlay = 4;
constexpr std::uint32_t squashfs = 1; // file systems
constexpr std::uint32_t ext3 = 2;
constexpr std::uint32_t encrypted_squashfs = 5;
constexpr std::uint32_t encrypted_by_gocryptfs = 6;

} // namespace sif

namespace squashfs {

constexpr std::size_t header_size = 96;
constexpr std::string_view magic = "hsqs";
constexpr std::size_t version_at = 28; // major, minor: 2 bytes each
constexpr std::uint32_t version = 4;
constexpr std::size_t size_at = 40;

} // namespace squashfs

constexpr const char* convert = "convert it: apptainer build NEW.sif IMAGE";
constexpr const char* copy_again = "copy it once more";
constexpr const char* name_another =
    "name a directory, a SIF, or a file with squashfs; plan and check also read archives of docker "
    "save";
constexpr const char* unpack =
    "plan and check read it; to run its programs, make a SIF or a directory of it: apptainer build "
    "[--sandbox] NEW docker-archive:IMAGE (or oci-archive:IMAGE)";

/// A number of `size` bytes, the least significant first.
std::uint64_t number(std::span<const unsigned char> bytes, std::size_t at, std::size_t size)
{
    std::uint64_t value = 0;
    for (std::size_t byte = size; byte-- > 0;)
        value = value << 8U | bytes[at + byte];
    return value;
}
std::uint64_t number64(std::span<const unsigned char> bytes, std::size_t at)
{
    return number(bytes, at, 8);
}
std::uint32_t number32(std::span<const unsigned char> bytes, std::size_t at)
{
    return static_cast<std::uint32_t>(number(bytes, at, 4));
}

bool has(std::span<const unsigned char> bytes, std::size_t at, std::string_view text)
{
    return std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

Error damaged(std::string why, const char* hint = "")
{
    return Error(Errc::rootfs, std::move(why)).with_hint(hint);
}

/// Of images that are whole, and of a kind that is not for us.
Error unusable(std::string why, const char* hint)
{
    return Error(Errc::requirement, std::move(why)).with_hint(hint);
}

/// False if the file ends before `bytes` are full.
Result<bool> read_at(int fd, std::uint64_t offset, std::span<unsigned char> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return Error::from_errno(errno, "read", Errc::rootfs);
        if (count == 0)
            return false;
        offset += static_cast<std::uint64_t>(count);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

/// Of files that have neither squashfs nor a SIF.
Error other_kind(int fd, std::string_view header)
{
    if (is_archive(fd))
        return unusable("an archive of layers, which is not mounted", unpack)
            .with_object(archive_kind);
    if (const auto program = compression_of(header); !program.empty())
        return unusable(base::format("it is compressed as a whole, with {}", program),
                        "decompress it: archives of docker save are read as plain tars only");
    return damaged("neither a directory nor an image of a known kind", name_another);
}

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t length)
{
    return offset <= length && size <= length - offset;
}

/// Checks that squashfs is where it is said to be, and all of it.
Result<void> check_squashfs(int fd, const Place& place)
{
    std::array<unsigned char, squashfs::header_size> header = {};
    const bool is_large_enough = place.size >= header.size();
    GPUCTR_TRY(const bool is_read,
               is_large_enough ? read_at(fd, place.offset, header) : Result<bool>(false));
    if (!is_read || !has(header, 0, squashfs::magic))
        return damaged("there is no squashfs where its root file system should be");
    if (const auto version = number32(header, squashfs::version_at); version != squashfs::version)
        return unusable(
            base::format("squashfs of version {}.{}", version & 0xffffU, version >> 16U),
            "version 4.0 can be read: make the image again with mksquashfs");
    if (number64(header, squashfs::size_at) > place.size)
        return damaged("it is cut off: the squashfs in it is larger", copy_again);
    return {};
}

using Row = std::array<unsigned char, sif::row_size>;

/// What the table says of the objects in a file.
struct Objects {
    std::optional<Row> root;
    bool has_oci_index = false;
};

/// Takes note of one object.
Result<void> add(const Row& row, Objects& found, Place& place)
{
    const std::uint32_t type = number32(row, 0);
    const std::uint32_t purpose = number32(row, sif::purpose_at);
    found.has_oci_index = found.has_oci_index || type == sif::oci_index;
    place.is_signed = place.is_signed || type == sif::signature;
    if (type != sif::partition)
        return {};
    place.has_overlay = place.has_overlay || purpose == sif::of_overlay;
    if (purpose != sif::of_root)
        return {};
    if (found.root)
        return damaged("two partitions of the SIF say that they are its root file system");
    found.root = row;
    return {};
}

Result<Objects> read_objects(int fd, std::span<const unsigned char> header, std::uint64_t length,
                             Place& place)
{
    const std::uint64_t rows = number64(header, sif::rows_at);
    const std::uint64_t table = number64(header, sif::table_at);
    if (rows > sif::most_rows || !lies_within(table, rows * sif::row_size, length))
        return damaged("the table of a SIF in it does not lie within the file", copy_again);
    Objects found;
    for (std::uint64_t index = 0; index < rows; ++index) {
        Row row = {};
        GPUCTR_TRY(const bool is_read, read_at(fd, table + index * sif::row_size, row));
        if (!is_read)
            return damaged("it is cut off", copy_again);
        if (row[sif::used_at] != 0)
            GPUCTR_CHECK(add(row, found, place));
    }
    return found;
}

Result<void> find_in_sif(int fd, std::span<const unsigned char> header, std::uint64_t length,
                         Place& place)
{
    GPUCTR_TRY(const Objects objects, read_objects(fd, header, length, place));
    if (!objects.root && objects.has_oci_index)
        return unusable("a SIF that holds an OCI image", convert);
    if (!objects.root)
        return damaged("a SIF without a root file system");
    const std::uint32_t kind = number32(*objects.root, sif::file_system_at);
    if (kind == sif::encrypted_squashfs || kind == sif::encrypted_by_gocryptfs)
        return unusable("it is encrypted", "Apptainer decrypts it: apptainer exec --nv IMAGE CMD");
    if (kind == sif::ext3)
        return unusable("its root file system is ext3, which only root could mount safely",
                        convert);
    if (kind != sif::squashfs)
        return unusable(
            base::format("its root file system is of kind {}, which is not known", kind), convert);
    place.offset = number64(*objects.root, sif::offset_at);
    place.size = number64(*objects.root, sif::size_at);
    if (!lies_within(place.offset, place.size, length))
        return damaged("its root file system does not lie within the file", copy_again);
    return {};
}

} // namespace

Result<Place> find_root_file_system(int fd)
{
    struct stat status = {};
    if (::fstat(fd, &status) != 0)
        return Error::from_errno(errno, "read", Errc::rootfs);
    if (!S_ISREG(status.st_mode))
        return damaged("not a regular file", name_another);
    const auto length = static_cast<std::uint64_t>(status.st_size);
    std::array<unsigned char, sif::header_size> header = {};
    GPUCTR_TRY(const bool is_read,
               length >= header.size() ? read_at(fd, 0, header) : Result<bool>(false));
    if (!is_read)
        return damaged("neither a directory nor an image", name_another);
    Place place;
    if (has(header, 0, squashfs::magic))
        place.size = length;
    else if (has(header, sif::magic_at, sif::magic))
        GPUCTR_CHECK(find_in_sif(fd, header, length, place));
    else
        return other_kind(fd, {reinterpret_cast<const char*>(header.data()), header.size()});
    GPUCTR_CHECK(check_squashfs(fd, place));
    return place;
}

} // namespace gpucontainer::image
