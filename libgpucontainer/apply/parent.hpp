// SPDX-License-Identifier: MIT
#pragma once

#include "apply/program.hpp"
#include "base/unique_fd.hpp"

#include <array>
#include <climits>
#include <cstdint>

/// Where a name is made, and what is there. No allocation.
namespace gpucontainer::apply {

/// What a name is at the moment; a mark without inode when it is not there.
FileMark mark_at(int directory, const char* name) noexcept;

bool same_file(const FileMark& left, const FileMark& right) noexcept;

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
/// root, and hides it. Of the same one mounted there once more it cannot be told.
bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

/// The directory that an operation works in, and the name in it.
class Parent {
public:
    Parent(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    int fd() const noexcept { return fd_.get(); }
    const char* name() const noexcept { return name_; }

    std::int64_t mtime() const noexcept { return mark_at(fd(), ".").mtime_ns; }
    void set_mtime(std::int64_t time) const noexcept;

private:
    base::UniqueFd fd_;
    const char* name_ = "";
};

} // namespace gpucontainer::apply
