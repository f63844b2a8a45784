// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace gpucontainer::syscall {

/// Numbers of descriptors that are the caller's: standard input, output and error.
constexpr int standard_descriptors = 3;

/// Has one of those be another number. Closes it when there is none, with -1 and errno.
int move_above_standard(int fd) noexcept;

/// Takes a descriptor over and returns it above the caller's, which are his also while
/// they are closed: a thread of his that prints must not write into a file of ours. The
/// kernel gives the lowest number that is free, so the move comes a call after the
/// opening. No call where the number is high enough already; -1 stays -1.
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

    /// Takes over `fd` and closes the previous one, which leaves errno alone: an
    /// error path can still report what failed first.
    void reset(int fd = -1) noexcept;

private:
    int fd_ = -1;
};

} // namespace gpucontainer::syscall
