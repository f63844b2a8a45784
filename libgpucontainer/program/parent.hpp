// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "mount/table.hpp"
#include "program/program.hpp"

#include <array>
#include <climits>
#include <cstdint>

/// Where a name is made, and what is there. No allocation.
namespace gpucontainer::program {

/// What a name is at the moment, a mark without inode when it is not there; false,
/// with errno, when that cannot be told.
bool look_at(int directory, const char* name, FileMark& mark) noexcept;
bool look_at(int file, FileMark& mark) noexcept;

bool same_file(const FileMark& left, const FileMark& right) noexcept;

/// Still what the operation made: the same file, and not changed since. A file of
/// somebody else's may have got the inode of one of ours that he removed.
bool is_ours(const Operation& operation, const FileMark& now) noexcept;

/// Under which name the replaced file is kept beside its successor.
inline constexpr const char* kept_prefix = ".gpuctr-kept-";

class KeptName {
public:
    explicit KeptName(const char* name) noexcept;
    /// False when the name is too long for that.
    explicit operator bool() const noexcept { return fits_; }
    const char* name() const noexcept { return text_.data(); }

private:
    std::array<char, NAME_MAX + 1> text_ = {};
    bool fits_;
};

/// Whether another file system lies where an operation made its name in that of the
/// root, and hides it: EBUSY, or why that cannot be told. Of the same one mounted
/// there once more it is not known.
bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

/// What failed where another mount hides a directory.
inline constexpr const char* hidden_step = "reach, under another mount, our name at";

/// The directory that an operation works in, and the name in it.
class Parent {
public:
    /// Whichever directory is at the path.
    static Parent at_path(const Program& program, const Operation& operation,
                          int rootfs_fd) noexcept;

    /// The one that the operation knows, or that one of the program made, on whichever mount:
    /// an overlay of ours shows it on another one.
    static Parent to_make_in(const Program& program, const Operation& operation,
                             int rootfs_fd) noexcept;

    /// The one that the operation knows, on the mount where that was: what a process of the
    /// container put in its place, or mounted over it, is not touched. Of an operation that
    /// knows none, one that is on the mount where it has to be. `table` is the mount table of
    /// a root that is not reached from the thread's own.
    static Parent known(const Program& program, const Operation& operation, int rootfs_fd,
                        int table = mount::own_table) noexcept;

    /// False with errno: see is_gone(); EBUSY where another mount hides it.
    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    /// Whether an errno value says that the directory is not there, or is another one.
    static bool is_gone(int os_error) noexcept;

    /// Something is mounted over the name, and hides whose it is.
    bool is_covered() const noexcept;

    /// Has the operation know the directory, which look() has found; false with errno.
    bool note(Operation& operation, const FileMark& directory) const noexcept;
    bool note(Operation& operation) const noexcept;
    int fd() const noexcept { return fd_.get(); }
    const char* name() const noexcept { return name_; }

    bool look(FileMark& mark) const noexcept { return look_at(fd(), ".", mark); }
    bool set_mtime(std::int64_t time) const noexcept;
    /// Same; true also where the caller may not, or the file system cannot: no later
    /// attempt would.
    bool give_mtime(std::int64_t time) const noexcept;

private:
    Parent() noexcept = default;
    static FileMark directory_of(const Program& program, const Operation& operation) noexcept;
    void prove(const Program& program, const Operation& operation, int table) noexcept;

    base::UniqueFd fd_;
    const char* name_ = "";
};

} // namespace gpucontainer::program
