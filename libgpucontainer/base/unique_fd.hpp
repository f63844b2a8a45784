// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace gpucontainer::base {

/// Owns one file descriptor, or none.
class UniqueFd {
public:
    UniqueFd() noexcept = default;
    explicit UniqueFd(int fd) noexcept : fd_(fd) {}

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

    /// Takes over `fd` and closes the previous one. Leaves errno alone, so an
    /// error path can still report what failed first.
    void reset(int fd = -1) noexcept;

private:
    int fd_ = -1;
};

} // namespace gpucontainer::base
