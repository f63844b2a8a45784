// SPDX-License-Identifier: MIT
#include "image/image_file.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <gpucontainer/gpucontainer.hpp>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

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

[[noreturn]] void refuse(const ImageFile& image, const std::string& why,
                         const std::string& hint = "")
{
    throw Error(GPUCTR_E_ROOTFS, formatted("image {}: {}", image.name, why), hint, 0, {}, "rootfs");
}

/// Of images that are whole, and of a kind that is not for us.
[[noreturn]] void decline(const ImageFile& image, const std::string& why, const std::string& hint)
{
    throw Error(GPUCTR_E_REQUIREMENT, formatted("image {}: {}", image.name, why), hint, 0, {},
                "rootfs");
}

/// False if the file ends before `bytes` are full.
bool read_at(const ImageFile& image, std::uint64_t offset, std::span<unsigned char> bytes)
{
    while (!bytes.empty()) {
        const ssize_t count =
            ::pread(image.file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail("read image " + image.name, GPUCTR_E_ROOTFS, "", "rootfs");
        if (count == 0)
            return false;
        offset += static_cast<std::uint64_t>(count);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

bool lies_within(std::uint64_t offset, std::uint64_t size, std::uint64_t length)
{
    return offset <= length && size <= length - offset;
}

/// Checks that squashfs is where the image is said to be, and all of it.
void check_squashfs(const ImageFile& image)
{
    std::array<unsigned char, squashfs::header_size> header = {};
    if (image.size < header.size() || !read_at(image, image.offset, header)
        || !has(header, 0, squashfs::magic))
        refuse(image, "there is no squashfs where its root file system should be");
    if (const auto version = number32(header, squashfs::version_at); version != squashfs::version)
        decline(image, formatted("squashfs of version {}.{}", version & 0xffffU, version >> 16U),
                "the kernel reads version 4.0: make the image again with mksquashfs");
    if (number64(header, squashfs::size_at) > image.size)
        refuse(image, "it is cut off: the squashfs in it is larger", "copy it once more");
}

using Row = std::array<unsigned char, sif::row_size>;

/// What the table says of the objects in a file.
struct Objects {
    std::optional<Row> root;
    bool has_oci_index = false;
};

/// Takes note of one object.
void add(const Row& row, Objects& found, ImageFile& image)
{
    const std::uint32_t type = number32(row, 0);
    const std::uint32_t purpose = number32(row, sif::purpose_at);
    found.has_oci_index = found.has_oci_index || type == sif::oci_index;
    image.is_signed = image.is_signed || type == sif::signature;
    if (type != sif::partition)
        return;
    image.has_overlay = image.has_overlay || purpose == sif::of_overlay;
    if (purpose != sif::of_root)
        return;
    if (found.root)
        refuse(image, "two partitions of the SIF say that they are its root file system");
    found.root = row;
}

Objects read_objects(ImageFile& image, std::span<const unsigned char> header, std::uint64_t length)
{
    const std::uint64_t rows = number64(header, sif::rows_at);
    const std::uint64_t table = number64(header, sif::table_at);
    if (rows > sif::most_rows || !lies_within(table, rows * sif::row_size, length))
        refuse(image, "the table of a SIF in it does not lie within the file", "copy it once more");
    Objects found;
    for (std::uint64_t index = 0; index < rows; ++index) {
        Row row = {};
        if (!read_at(image, table + index * sif::row_size, row))
            refuse(image, "it is cut off", "copy it once more");
        if (row[sif::used_at] != 0)
            add(row, found, image);
    }
    return found;
}

void find_in_sif(ImageFile& image, std::span<const unsigned char> header, std::uint64_t length)
{
    const Objects objects = read_objects(image, header, length);
    if (!objects.root && objects.has_oci_index)
        decline(image, "a SIF that holds an OCI image",
                "convert it: apptainer build NEW.sif IMAGE");
    if (!objects.root)
        refuse(image, "a SIF without a root file system");
    const std::uint32_t kind = number32(*objects.root, sif::file_system_at);
    if (kind == sif::encrypted_squashfs || kind == sif::encrypted_by_gocryptfs)
        decline(image, "it is encrypted", "Apptainer decrypts it: apptainer exec --nv IMAGE CMD");
    if (kind == sif::ext3)
        decline(image, "its root file system is ext3, which only root could mount safely",
                "convert it: apptainer build NEW.sif IMAGE");
    if (kind != sif::squashfs)
        decline(image, formatted("its root file system is of kind {}, which is not known", kind),
                "convert it: apptainer build NEW.sif IMAGE");
    image.offset = number64(*objects.root, sif::offset_at);
    image.size = number64(*objects.root, sif::size_at);
    if (!lies_within(image.offset, image.size, length))
        refuse(image, "its root file system does not lie within the file", "copy it once more");
}

} // namespace

void find_root_file_system(ImageFile& image, std::uint64_t length)
{
    std::array<unsigned char, sif::header_size> header = {};
    if (length < header.size() || !read_at(image, 0, header))
        refuse(image, "neither a directory nor an image",
               "name a directory, a SIF, or a file with squashfs");
    if (has(header, 0, squashfs::magic)) {
        image.offset = 0;
        image.size = length;
    } else if (has(header, sif::magic_at, sif::magic)) {
        find_in_sif(image, header, length);
    } else {
        refuse(image, "neither a directory nor an image of a known kind",
               "name a directory, a SIF, or a file with squashfs");
    }
    check_squashfs(image);
}

std::optional<ImageFile> open_image_file(const std::string& path)
{
    // A FIFO would make the caller wait, and a device may do anything when it is opened.
    const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status = {};
    if (!place || ::fstat(place.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return std::nullopt;
    ImageFile image;
    image.name = path;
    image.file =
        Fd(::open(formatted("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC));
    if (!image.file)
        fail("image " + path, GPUCTR_E_ROOTFS, "this user has to be able to read it", "rootfs");
    find_root_file_system(image, static_cast<std::uint64_t>(status.st_size));
    return image;
}

} // namespace gpuctr_cli
