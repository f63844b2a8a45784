// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::rootfs {

enum class EntryType : std::uint8_t { none, regular, directory, link, character, other };

/// A name in a root file system, which is looked up but not opened.
struct Entry {
    EntryType type = EntryType::none;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t mount = 0; ///< Which mount it is on.
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::uint32_t mode = 0; ///< Permission bits.
    /// It is on a tmpfs that is mounted in the root, such as a container's /dev: names created
    /// there are not in the root file system itself.
    bool own_tmpfs = false;

    explicit operator bool() const noexcept { return type != EntryType::none; }
    bool same_file(const Entry& other) const noexcept
    {
        return type != EntryType::none && device == other.device && inode == other.inode;
    }
};

/// What planning may ask about a container's root. Paths are absolute in it, and no link leads out
/// of it. A name that cannot be looked up counts as missing; whoever made the view can ask
/// afterwards whether that happened.
class View {
public:
    virtual ~View() = default;

    /// Looks up a name. A symbolic link as its last component is not followed.
    virtual Entry look(const std::string& path) const = 0;
    /// Which of the names exist in a directory. Links are not followed.
    virtual std::vector<std::string> present(const std::string& directory,
                                             const std::vector<std::string>& names) const;
    /// Looks up what the name leads to.
    virtual Entry resolve(const std::string& path) const = 0;
    /// Target of a symbolic link; empty if it is not a link.
    virtual std::string link_target(const std::string& path) const = 0;
    /// Opens a regular file for reading.
    virtual Result<base::OpenFile> open(const std::string& path) const = 0;
    /// Content of a regular file of at most `limit` bytes.
    virtual Result<std::string> read(const std::string& path, std::size_t limit) const = 0;
    /// Names in a directory, sorted. More than `limit` are an error.
    virtual Result<std::vector<std::string>> list(const std::string& path,
                                                  std::size_t limit) const = 0;
    /// Whether it is a directory without entries.
    virtual bool is_empty_directory(const std::string& path) const = 0;
    /// Whether names may be created in a directory. The owner of new names must have write
    /// permission. On another mount than the root's, the directory must also belong to that owner
    /// and be local, or be on a tmpfs; and not be mounted below the kernel's own file systems.
    virtual bool is_for_names(const std::string& path) const = 0;
    /// Whether so much was asked that names count as missing without a look.
    virtual bool is_exhausted() const { return false; }
};

/// Facts about a root file system: what it is, and whether it may be written.
struct RootFacts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool read_only = false;
    bool network = false;    ///< NFS, Lustre, FUSE ...: other hosts may see it.
    bool writable = false;   ///< The owner of new names has write permission.
    bool own = false;        ///< Its directory belongs to that owner.
    bool is_callers = false; ///< It is the calling thread's root directory.
    /// The file system of the calling thread's /dev; 0 if that is none of its own, or the root's.
    std::uint64_t callers_devices = 0;
};

/// A view of a whole root file system, as it is.
class RootView : public View {
public:
    /// Fails if a lookup failed in a way that does not tell what is there. Decisions since then
    /// may be wrong.
    virtual Result<void> check() const = 0;
    virtual const RootFacts& facts() const noexcept = 0;
    /// NAME=VALUE each: what an image sets for its programs beside its files. None of a directory.
    virtual Result<std::vector<std::string>> variables() const
    {
        return std::vector<std::string>();
    }
};

/// Nearest existing directory at or above `path`.
std::string nearest_directory(const View& view, std::string_view path);

} // namespace gpucontainer::rootfs
