// SPDX-License-Identifier: MIT
#pragma once

#include "image/image_file.hpp"

namespace gpuctr_cli {

/// The program squashfuse, which reads an image for the kernel as this user. It runs in the
/// namespaces in which it was started, has no part in those of the container, and ends when these
/// do.
class Squashfuse {
public:
    /// Starts a process that becomes squashfuse once it has a device to serve. Throws
    /// gpucontainer::Error: requirement if the program is not installed; apply.
    static Squashfuse start(const ImageFile& image);

    /// Lets it serve a mounted /dev/fuse. Throws: apply.
    void serve(Fd device);

private:
    explicit Squashfuse(Fd channel) : channel_(std::move(channel)) {}

    Fd channel_;
};

} // namespace gpuctr_cli
