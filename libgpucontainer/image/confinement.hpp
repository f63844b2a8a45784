// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::image {

/// The descriptors that a confined process may use, by their numbers in it.
constexpr int channel_number = 0; ///< A socket, to be read and written.
constexpr int image_number = 1;   ///< Read by pread() alone.

/// What it may take.
struct Limits {
    /// In bytes, beyond what it has. An image asks for some dozen MiB.
    unsigned long long memory = 512ULL << 20U;
    unsigned seconds = 10; ///< Of processor time.
    /// So long it is waited for in all: for a file on a slow disk, and not for a process that was
    /// taken over and says nothing.
    unsigned waiting_seconds = 120;
};

/// For a process that is a fork: moves two descriptors to these numbers and closes all others,
/// unmaps all memory that it shares with others, sets the limits, and takes all system calls from
/// it for good but those for memory and for reading and writing these descriptors. 0, or errno of
/// what failed, such as no /proc, which lists memory. Allocates nothing.
int confine_process(int channel, int image, const Limits& limits) noexcept;

} // namespace gpucontainer::image
