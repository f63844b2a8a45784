// SPDX-License-Identifier: MIT
#include "image/squashfs.hpp"

#include "base/try.hpp"
#include "image/confinement.hpp"
#include "image/kept_blocks.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <sqfs/block.h>
#include <sqfs/compressor.h>
#include <sqfs/dir.h>
#include <sqfs/error.h>
#include <sqfs/frag_table.h>
#include <sqfs/inode.h>
#include <sqfs/io.h>
#include <sqfs/meta_reader.h>
#include <sqfs/super.h>
#include <unistd.h>
#include <utility>

namespace gpucontainer::image {

using rootfs::EntryType;

namespace {

/// So much of decoded blocks is kept, of the memory that a process has which reads hostile images.
constexpr std::size_t most_kept_bytes = Limits().memory / 2;

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
    Result<void> find_fragments();
    Result<std::string> decode(const StoredBlock& stored);
    Result<void> copy(const StoredBlock& stored, std::uint64_t from, std::span<char> to);
    Result<void> copy_fragment(std::uint64_t from, std::span<char> to);

    std::shared_ptr<const SquashFunctions> functions_;
    Part part_;
    sqfs_super_t super_ = {};
    // Each uses those before it.
    Object<sqfs_compressor_t> compressor_;
    Object<sqfs_meta_reader_t> inodes_;
    Object<sqfs_meta_reader_t> directories_;
    Object<sqfs_frag_table_t> fragments_; ///< None before the first file is read.
    std::optional<KeptBlocks> blocks_;    ///< From open() on.
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
    blocks_.emplace(most_kept_bytes / super_.block_size,
                    [this](const StoredBlock& stored) { return decode(stored); });
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

Result<void> SquashFs::find_fragments()
{
    if (fragments_)
        return {};
    Object<sqfs_frag_table_t> fragments(functions_->create_fragments(0));
    if (!fragments)
        return error_of(EBADMSG);
    if (const int error =
            functions_->read_fragments(fragments.get(), &part_, &super_, compressor_.get());
        error != 0)
        return error_of(errno_of(error));
    fragments_ = std::move(fragments);
    return {};
}

Result<std::string> SquashFs::decode(const StoredBlock& stored)
{
    const std::uint32_t size = SQFS_ON_DISK_BLOCK_SIZE(stored.size);
    if (size > super_.block_size)
        return error_of(EBADMSG);
    std::string bytes(size, '\0');
    if (const int error = Part::read(&part_, stored.start, bytes.data(), size); error != 0)
        return error_of(errno_of(error));
    if (!SQFS_IS_BLOCK_COMPRESSED(stored.size))
        return bytes;
    std::string decoded(super_.block_size, '\0');
    const sqfs_s32 got =
        compressor_->do_block(compressor_.get(), reinterpret_cast<const sqfs_u8*>(bytes.data()),
                              size, reinterpret_cast<sqfs_u8*>(decoded.data()), super_.block_size);
    if (got <= 0)
        return error_of(errno_of(got));
    decoded.resize(std::min(static_cast<std::size_t>(got), decoded.size()));
    return decoded;
}

Result<void> SquashFs::copy(const StoredBlock& stored, std::uint64_t from, std::span<char> to)
{
    if (SQFS_IS_SPARSE_BLOCK(stored.size)) {
        std::ranges::fill(to, '\0');
        return {};
    }
    GPUCTR_TRY(const std::string* const block, blocks_->at(stored));
    if (from > block->size() || to.size() > block->size() - from)
        return error_of(EBADMSG);
    std::memcpy(to.data(), block->data() + from, to.size());
    return {};
}

/// Copies from the end of the file inode_, which fills no block.
Result<void> SquashFs::copy_fragment(std::uint64_t from, std::span<char> to)
{
    sqfs_u32 index = 0;
    sqfs_u32 offset = 0;
    sqfs_fragment_t fragment = {};
    GPUCTR_CHECK(find_fragments());
    (void)functions_->fragment_of(inode_.get(), &index, &offset);
    const int error = functions_->find_fragment(fragments_.get(), index, &fragment);
    if (error != 0 || SQFS_IS_SPARSE_BLOCK(fragment.size))
        return error_of(errno_of(error));
    return copy({fragment.start_offset, fragment.size}, offset + from, to);
}

Result<std::size_t> SquashFs::read(Reference file, std::uint64_t offset, std::span<char> bytes)
{
    GPUCTR_CHECK(find(file));
    if (type_of(inode_->base.type) != EntryType::regular)
        return error_of(EBADMSG);
    sqfs_u64 size = 0;
    sqfs_u64 start = 0;
    (void)functions_->file_size(inode_.get(), &size);
    (void)functions_->file_start(inode_.get(), &start);
    if (offset >= size)
        return std::size_t{0};
    std::span<char> left =
        bytes.first(std::min<std::uint64_t>({bytes.size(), largest_part, size - offset}));
    const std::size_t wanted = left.size();
    const std::span<const sqfs_u32> sizes(inode_->extra,
                                          sqfs_inode_get_file_block_count(inode_.get()));
    std::size_t index = 0;
    for (; index < sizes.size() && offset >= super_.block_size; ++index) {
        start += SQFS_ON_DISK_BLOCK_SIZE(sizes[index]);
        offset -= super_.block_size;
    }
    for (; index < sizes.size() && !left.empty(); ++index) {
        const auto part =
            left.first(std::min<std::uint64_t>(left.size(), super_.block_size - offset));
        GPUCTR_CHECK(copy({start, sizes[index]}, offset, part));
        start += SQFS_ON_DISK_BLOCK_SIZE(sizes[index]);
        offset = 0;
        left = left.subspan(part.size());
    }
    if (!left.empty())
        GPUCTR_CHECK(copy_fragment(offset, left));
    return wanted;
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
