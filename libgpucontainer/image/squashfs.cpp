// SPDX-License-Identifier: MIT
#include "image/squashfs.hpp"

#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <sqfs/compressor.h>
#include <sqfs/data_reader.h>
#include <sqfs/dir.h>
#include <sqfs/error.h>
#include <sqfs/inode.h>
#include <sqfs/io.h>
#include <sqfs/meta_reader.h>
#include <sqfs/super.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::image {

using rootfs::EntryType;

namespace {

/// An object of libsquashfs.
struct Destroy {
    template <typename T>
    void operator()(T* object) const noexcept
    {
        sqfs_destroy(object);
    }
};
template <typename T>
using Object = std::unique_ptr<T, Destroy>;

int errno_of(int error)
{
    switch (error) {
    case SQFS_ERROR_UNSUPPORTED:
    case SFQS_ERROR_SUPER_VERSION:
        return EOPNOTSUPP;
    case SQFS_ERROR_IO:
        return EIO;
    default: // of memory, which sizes in an image ask for
        return EBADMSG;
    }
}

EntryType type_of(unsigned type)
{
    switch (type) {
    case SQFS_INODE_FILE:
    case SQFS_INODE_EXT_FILE:
        return EntryType::regular;
    case SQFS_INODE_DIR:
    case SQFS_INODE_EXT_DIR:
        return EntryType::directory;
    case SQFS_INODE_SLINK:
    case SQFS_INODE_EXT_SLINK:
        return EntryType::link;
    case SQFS_INODE_CDEV:
    case SQFS_INODE_EXT_CDEV:
        return EntryType::character;
    default:
        return EntryType::other;
    }
}

/// The part of a file that holds the file system, for libsquashfs.
struct Part : sqfs_file_t {
    Part(int descriptor, const Place& where) noexcept : sqfs_file_t(), fd(descriptor), place(where)
    {
        base.destroy = [](sqfs_object_t*) {}; // the owner of this object
        read_at = &Part::read;
        get_size = [](const sqfs_file_t* file) -> sqfs_u64 {
            return static_cast<const Part*>(file)->place.size;
        };
        // For images that are written.
        write_at = [](sqfs_file_t*, sqfs_u64, const void*, std::size_t) -> int {
            return SQFS_ERROR_UNSUPPORTED;
        };
        truncate = [](sqfs_file_t*, sqfs_u64) -> int { return SQFS_ERROR_UNSUPPORTED; };
    }

    static int read(sqfs_file_t* file, sqfs_u64 offset, void* buffer, std::size_t size) noexcept
    {
        const auto& part = *static_cast<const Part*>(file);
        if (offset > part.place.size || size > part.place.size - offset)
            return SQFS_ERROR_OUT_OF_BOUNDS;
        auto* at = static_cast<char*>(buffer);
        offset += part.place.offset;
        while (size > 0) {
            const ssize_t got = ::pread(part.fd, at, size, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return SQFS_ERROR_IO;
            at += got;
            offset += static_cast<sqfs_u64>(got);
            size -= static_cast<std::size_t>(got);
        }
        return 0;
    }

    int fd;
    Place place;
};

class SquashFs final : public FileSystem {
public:
    SquashFs(std::shared_ptr<const SquashFunctions> functions, int fd, const Place& place)
        : functions_(std::move(functions)), part_(fd, place), inode_(nullptr, functions_->free)
    {
    }

    Result<void> open();
    Result<Reference> root() override { return Reference{super_.root_inode_ref}; }
    Result<Inode> inode(Reference place) override;
    Result<std::vector<Name>> list(Reference directory) override;
    Result<std::size_t> read(Reference file, std::uint64_t offset, std::span<char> bytes) override;

private:
    Result<void> find(Reference place);

    std::shared_ptr<const SquashFunctions> functions_;
    Part part_;
    sqfs_super_t super_ = {};
    // Each uses those before it.
    Object<sqfs_compressor_t> compressor_;
    Object<sqfs_meta_reader_t> inodes_;
    Object<sqfs_meta_reader_t> directories_;
    Object<sqfs_data_reader_t> data_; ///< None before the first file is read.
    std::unique_ptr<sqfs_inode_generic_t, decltype(&::sqfs_free)> inode_; ///< The last one.
    Reference place_ = 0;                                                 ///< Of that.
};

Result<void> SquashFs::open()
{
    if (const int error = functions_->read_super(&super_, &part_); error != 0)
        return error_of(errno_of(error));
    sqfs_compressor_config_t configuration = {};
    sqfs_compressor_t* compressor = nullptr;
    const auto kind = static_cast<SQFS_COMPRESSOR>(super_.compression_id);
    int error =
        functions_->configure(&configuration, kind, super_.block_size, SQFS_COMP_FLAG_UNCOMPRESS);
    if (error == 0)
        error = functions_->create_compressor(&configuration, &compressor);
    if (error != 0)
        return error_of(EOPNOTSUPP);
    compressor_.reset(compressor);
    if ((super_.flags & SQFS_FLAG_COMPRESSOR_OPTIONS) != 0
        && compressor_->read_options(compressor_.get(), &part_) != 0)
        return error_of(EBADMSG);

    inodes_.reset(functions_->create_meta_reader(
        &part_, compressor_.get(), super_.inode_table_start, super_.directory_table_start));
    const auto end = std::min({super_.id_table_start, super_.fragment_table_start,
                               super_.export_table_start, super_.bytes_used});
    directories_.reset(functions_->create_meta_reader(&part_, compressor_.get(),
                                                      super_.directory_table_start, end));
    return inodes_ && directories_ ? Result<void>() : error_of(EBADMSG);
}

/// Reads inode_.
Result<void> SquashFs::find(Reference place)
{
    if (inode_ && place_ == place)
        return {};
    constexpr unsigned offset_bits = 16;
    sqfs_inode_generic_t* inode = nullptr;
    const int error = functions_->read_inode(inodes_.get(), &super_, place >> offset_bits,
                                             place & ((1U << offset_bits) - 1), &inode);
    if (error != 0)
        return error_of(errno_of(error));
    inode_.reset(inode);
    place_ = place;
    return {};
}

Result<Inode> SquashFs::inode(Reference place)
{
    GPUCTR_CHECK(find(place));
    Inode found;
    found.type = type_of(inode_->base.type);
    found.mode = inode_->base.mode & 07777U;
    found.mtime = inode_->base.mod_time;
    if (found.type == EntryType::regular)
        (void)functions_->file_size(inode_.get(), &found.size);
    if (found.type != EntryType::link)
        return found;
    const std::size_t size = inode_->base.type == SQFS_INODE_SLINK
                                 ? inode_->data.slink.target_size
                                 : inode_->data.slink_ext.target_size;
    if (size > longest_target)
        return error_of(EBADMSG);
    found.target.assign(reinterpret_cast<const char*>(inode_->extra), size);
    return found;
}

Result<std::vector<Name>> SquashFs::list(Reference directory)
{
    GPUCTR_CHECK(find(directory));
    if (type_of(inode_->base.type) != EntryType::directory)
        return error_of(EBADMSG);
    sqfs_readdir_state_t state = {};
    int error = functions_->begin_directory(&state, &super_, inode_.get());
    std::vector<Name> names;
    while (error == 0) {
        sqfs_dir_entry_t* entry = nullptr;
        sqfs_u32 number = 0;
        sqfs_u64 reference = 0;
        error = functions_->read_directory(directories_.get(), &state, &entry, &number, &reference);
        if (error != 0)
            break;
        const std::unique_ptr<sqfs_dir_entry_t, decltype(&::sqfs_free)> owned(entry,
                                                                              functions_->free);
        if (names.size() == most_names)
            return error_of(EFBIG);
        names.push_back(
            {std::string(reinterpret_cast<const char*>(entry->name), std::size_t{entry->size} + 1),
             reference, type_of(entry->type)});
    }
    if (error < 0)
        return error_of(errno_of(error));
    std::ranges::sort(names, {}, &Name::name);
    return names;
}

Result<std::size_t> SquashFs::read(Reference file, std::uint64_t offset, std::span<char> bytes)
{
    GPUCTR_CHECK(find(file));
    if (type_of(inode_->base.type) != EntryType::regular)
        return error_of(EBADMSG);
    if (!data_) {
        Object<sqfs_data_reader_t> data(
            functions_->create_data_reader(&part_, super_.block_size, compressor_.get(), 0));
        if (!data)
            return error_of(EBADMSG);
        if (const int error = functions_->load_fragments(data.get(), &super_); error != 0)
            return error_of(errno_of(error));
        data_ = std::move(data);
    }
    const auto size = static_cast<sqfs_u32>(std::min(bytes.size(), largest_part));
    const sqfs_s32 got =
        functions_->read_data(data_.get(), inode_.get(), offset, bytes.data(), size);
    if (got < 0)
        return error_of(errno_of(got));
    return static_cast<std::size_t>(got);
}

} // namespace

Result<std::unique_ptr<FileSystem>> open_squashfs(std::shared_ptr<const SquashFunctions> functions,
                                                  int fd, const Place& place)
{
    auto opened = std::make_unique<SquashFs>(std::move(functions), fd, place);
    GPUCTR_CHECK(opened->open());
    return std::unique_ptr<FileSystem>(std::move(opened));
}

} // namespace gpucontainer::image
