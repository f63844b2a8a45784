// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

/// A program: what is to be done in a container, as one flat block of memory. It can be passed to
/// another process as it is, and executed without allocating.
namespace gpucontainer::program {

enum class Step : std::uint32_t {
    make_directory,
    make_file,    ///< With the content in `data`.
    make_link,    ///< To the target in `data`.
    replace_file, ///< By a file with the content in `data`; the old one is kept.
    mount,        ///< Attaches descriptor `fd` at the path.
    overlay,      ///< The names in mount `fd` over the directory at the path, labelled `data`.
};
inline constexpr std::uint32_t last_step = static_cast<std::uint32_t>(Step::overlay);

/// A symbolic link at the path is followed: what it leads to is mounted over.
inline constexpr std::uint32_t follow_target = 1U << 0U;
/// A directory is mounted, with mounts of ours below it, and maybe others' later.
inline constexpr std::uint32_t holds_mounts = 1U << 1U;
/// Undo found a mount of others there.
inline constexpr std::uint32_t holds_others = 1U << 2U;
/// The overlay's flags must be locked.
inline constexpr std::uint32_t lock_flags = 1U << 3U;
/// Undo could not look at the directory of the name.
inline constexpr std::uint32_t not_settled = 1U << 4U;
/// What is mounted is a device node; a file or directory of the host. For those who are told of
/// it, and in no journal before 0.2.
inline constexpr std::uint32_t device_node = 1U << 5U;
inline constexpr std::uint32_t host_file = 1U << 6U;
inline constexpr std::uint32_t any_number = ~std::uint32_t{0};

/// The file that a name was, before or after an operation.
struct FileMark {
    std::uint64_t device;
    std::uint64_t inode; ///< 0: nothing was there.
    std::uint64_t size;
    std::int64_t mtime_ns;
};

/// A step, and what is remembered to undo it.
struct Operation {
    Step step;
    std::uint32_t flags;
    std::uint32_t path; ///< Offset of a terminated path in the container.
    std::uint32_t data; ///< Offset of `data_size` bytes; terminated for a link.
    std::uint32_t data_size;
    std::int32_t fd; ///< Index into the descriptors, or -1.
    std::uint32_t done;
    std::uint32_t mounts_below; ///< Number of our mounts below; any_number: unknown.
    std::uint64_t newest_below; ///< The greatest identity among them; 0: unknown.
    std::uint64_t attributes;   ///< MOUNT_ATTR_* that the mount must have.
    FileMark expected;          ///< What replace_file must find.
    FileMark made;              ///< What the step made at the path.
    std::int64_t parent_before; ///< mtime of the directory before this step, in ns.
    std::int64_t parent_after;  ///< The same after this step.
    std::uint64_t mount_id;
    std::uint64_t parent_device; ///< Device of the directory.
    std::uint64_t parent_inode;  ///< Its inode; 0: not known yet.
    std::uint64_t parent_mount;  ///< Its mount; 0: it is gone.
};

/// Permission bits of what is made in a container, whatever the image has there. Nobody else may
/// write it, and no bit gives a program privileges.
inline constexpr std::uint32_t directory_mode = 0755;
inline constexpr std::uint32_t empty_directory_mode = 0555; ///< Of one that covers another.
inline constexpr std::uint32_t file_mode = 0644;
inline constexpr std::uint32_t placeholder_mode = 0444; ///< Of a file that is mounted over.
constexpr std::uint32_t mode_of_file(std::size_t size) noexcept
{
    return size > 0 ? file_mode : placeholder_mode;
}

inline bool is_mount(const Operation& operation) noexcept
{
    return operation.step == Step::mount || operation.step == Step::overlay;
}

/// The block has this header, operations, descriptors and strings, in this order.
struct ProgramHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t size;
    std::uint32_t operation_count;
    std::uint32_t fd_count;
    std::uint32_t attached;
    std::uint32_t owned;      ///< Memory and descriptors belong to the object.
    std::uint32_t for_setuid; ///< It was made for a program with raised privileges.
    std::uint32_t backend;
    std::int32_t scratch; ///< Index of the bench's descriptor, or -1.
    std::uint32_t reserved;
};

inline constexpr std::uint64_t block_magic = 0x67707563'74720001; // "gpuctr", layout 1
inline constexpr std::uint32_t block_version = 4;

/// Where the strings of a block begin.
constexpr std::size_t strings_offset(std::size_t operations, std::size_t fds) noexcept
{
    return sizeof(ProgramHeader) + operations * sizeof(Operation) + fds * sizeof(std::int32_t);
}

/// A view of a block; copying it does not copy the block.
class Program {
public:
    explicit Program(void* block) noexcept : block_(static_cast<std::byte*>(block)) {}

    /// Checks a block from elsewhere: every offset, count and string in it.
    static bool is_valid(const void* block, std::size_t size) noexcept;

    ProgramHeader& header() const noexcept { return *reinterpret_cast<ProgramHeader*>(block_); }
    std::span<Operation> operations() const noexcept;
    std::span<std::int32_t> fds() const noexcept;
    const char* text(std::uint32_t offset) const noexcept
    {
        return reinterpret_cast<const char*>(block_) + offset;
    }
    void* block() const noexcept { return block_; }
    /// The bench with which its mounts were made.
    mount::Bench bench() const noexcept;

private:
    std::byte* block_;
};

} // namespace gpucontainer::program
