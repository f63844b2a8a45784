// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdio>

namespace gpucontainer::syscall {

/// A path that leads to what a descriptor of the calling thread refers to, for calls that take no
/// descriptors. It is valid only if open_in_proc() finds own_descriptors.
class FdPath {
public:
    explicit FdPath(int fd) noexcept
    {
        (void)std::snprintf(text_.data(), text_.size(), "/proc/thread-self/fd/%d", fd);
    }
    // NOLINTNEXTLINE(google-explicit-constructor): it is used in place of a path
    operator const char*() const noexcept { return text_.data(); }

private:
    std::array<char, 40> text_ = {};
};

} // namespace gpucontainer::syscall
