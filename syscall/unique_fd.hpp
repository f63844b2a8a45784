// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace gpucontainer::syscall {

/// Number of the caller's descriptors: standard input, output and error.
constexpr int standard_descriptors = 3;

/// Moves a descriptor to a number above those. If there is none, it is closed; -1 with errno.
int move_above_standard(int fd) noexcept;

/// Takes ownership of a descriptor and returns it above the standard ones. These belong to the
/// caller even if they are closed: one of its threads that prints must not write into a file of
/// ours. The kernel gives out the lowest free number, so the descriptor is moved right after it was
/// opened. A number that is high enough stays, and so does -1.
inline int above_standard(int fd) noexcept
{
    return fd < 0 || fd >= standard_descriptors ? fd : move_above_standard(fd);
}

/// Owns one file descriptor above the standard ones, or none.
class UniqueFd {
public:
    UniqueFd() noexcept = default;
    explicit UniqueFd(int fd) noexcept : fd_(above_standard(fd)) {}

    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept
    {
        reset(other.release());
        return *this;
    }
    ~UniqueFd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

    /// Takes ownership of `fd` and closes the previous one. errno stays, so that an error path can
    /// still report what failed first.
    void reset(int fd = -1) noexcept;

private:
    int fd_ = -1;
};

} // namespace gpucontainer::syscall
