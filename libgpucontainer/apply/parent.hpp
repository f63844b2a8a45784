// SPDX-License-Identifier: MIT
#pragma once

#include "apply/program.hpp"
#include "base/unique_fd.hpp"

#include <array>
#include <climits>
#include <cstdint>

/// Where a name is made, and what is there. No allocation.
namespace gpucontainer::apply {

/// What a name is at the moment, a mark without inode when it is not there; false,
/// with errno, when that cannot be told.
bool look_at(int directory, const char* name, FileMark& mark) noexcept;
bool look_at(int file, FileMark& mark) noexcept;

bool same_file(const FileMark& left, const FileMark& right) noexcept;

/// Still what the operation made: the same file, and not changed since. A file of
/// somebody else's may have got the inode of one of ours that he removed.
bool is_ours(const Operation& operation, const FileMark& now) noexcept;

/// Under which name the replaced file is kept beside its successor.
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

/// On a file system of the kernel's whose names stand for something else than files.
bool is_special(int fd) noexcept;

/// Whether another file system lies where an operation made its name in that of the
/// root, and hides it: EBUSY, or why that cannot be told. Of the same one mounted
/// there once more it is not known.
bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

/// The directory that an operation works in, and the name in it.
class Parent {
public:
    Parent(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    int fd() const noexcept { return fd_.get(); }
    const char* name() const noexcept { return name_; }

    bool look(FileMark& mark) const noexcept { return look_at(fd(), ".", mark); }
    bool set_mtime(std::int64_t time) const noexcept;
    /// Same; true also where the caller may not, or the file system cannot: no later
    /// attempt would.
    bool give_mtime(std::int64_t time) const noexcept;

private:
    base::UniqueFd fd_;
    const char* name_ = "";
};

} // namespace gpucontainer::apply
