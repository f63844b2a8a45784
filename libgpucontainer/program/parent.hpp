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

/// What a name is at the moment. If it is missing, the mark has no inode. False with errno if that
/// is unknown.
bool look_at(int directory, const char* name, FileMark& mark) noexcept;
bool look_at(int file, FileMark& mark) noexcept;

bool same_file(const FileMark& left, const FileMark& right) noexcept;

/// Whether it still is what the operation made: the same file, and not changed since. If somebody
/// removed our file, another file may have got its inode.
bool is_ours(const Operation& operation, const FileMark& now) noexcept;

/// Prefix of the name under which a replaced file is kept beside its successor.
inline constexpr const char* kept_prefix = ".gpuctr-kept-";

class KeptName {
public:
    explicit KeptName(const char* name) noexcept;
    /// False if the name is too long for that.
    explicit operator bool() const noexcept { return fits_; }
    const char* name() const noexcept { return text_.data(); }

private:
    std::array<char, NAME_MAX + 1> text_ = {};
    bool fits_;
};

/// Whether another file system is mounted over the name that an operation made in the root's, and
/// hides it: EBUSY, or why that is unknown. A second mount of the same file system is not noticed.
bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

/// The step in an error if another mount hides a directory.
inline constexpr const char* hidden_step = "reach our name, under another mount, at";

/// The directory that an operation works in, and the name in it.
class Parent {
public:
    /// The directory that is at the path.
    static Parent at_path(const Program& program, const Operation& operation,
                          int rootfs_fd) noexcept;

    /// The one that the operation noted, or that an operation of the program made, on any mount: an
    /// overlay of ours shows it on another one.
    static Parent to_make_in(const Program& program, const Operation& operation,
                             int rootfs_fd) noexcept;

    /// The one that the operation noted, on the mount where it was. What a process of the container
    /// put in its place, or mounted over it, is not touched. If the operation noted none, a
    /// directory on the right mount. `table` is the mount table of a root that cannot be reached
    /// from the thread's own.
    static Parent known(const Program& program, const Operation& operation, int rootfs_fd,
                        int table = mount::own_table) noexcept;

    /// False with errno: see is_gone(); EBUSY if another mount hides it.
    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    /// Whether an errno value means that the directory is missing, or another one.
    static bool is_gone(int os_error) noexcept;

    /// Whether something is mounted over the name, so that its owner is unknown.
    bool is_covered() const noexcept;

    /// Notes the directory, as look() found it, in the operation; false with errno.
    bool note(Operation& operation, const FileMark& directory) const noexcept;
    bool note(Operation& operation) const noexcept;
    int fd() const noexcept { return fd_.get(); }
    const char* name() const noexcept { return name_; }

    bool look(FileMark& mark) const noexcept { return look_at(fd(), ".", mark); }
    bool set_mtime(std::int64_t time) const noexcept;
    /// The same, but also true if the caller may not set it, or the file system cannot: a later
    /// attempt would not succeed either.
    bool give_mtime(std::int64_t time) const noexcept;

private:
    Parent() noexcept = default;
    static FileMark directory_of(const Program& program, const Operation& operation) noexcept;
    void prove(const Program& program, const Operation& operation, int table) noexcept;

    base::UniqueFd fd_;
    const char* name_ = "";
};

} // namespace gpucontainer::program
