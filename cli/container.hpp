// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>

namespace gpuctr_setup {

/// Owns one file descriptor.
class Fd {
public:
    explicit Fd(int fd = -1) noexcept : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd();
    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_;
};

/// Gives this process a mount namespace of its own, and a user namespace where
/// its privileges do not suffice for that; ids stay what they are. What is
/// mounted in it shows nowhere else. Throws gpucontainer::Error: permission.
void enter_private_namespaces();

/// A directory that becomes the root of this process. Mounts go onto
/// descriptors that were resolved in it, so that its links lead nowhere else.
/// Everything throws gpucontainer::Error.
class Container {
public:
    /// Binds `rootfs` on itself with all that is mounted below it.
    explicit Container(const std::string& rootfs);

    int fd() const noexcept { return root_.get(); }

    /// The host's /proc and /sys.
    void mount_kernel_file_systems() const;
    /// A /dev of its own, with the devices that every program expects.
    void mount_devices() const;
    /// "SRC[:DST[:ro]]"; the target has to be there.
    void bind(const std::string& specification) const;
    /// Makes it the root and forgets the host's.
    void enter(const std::string& working_directory) const;

private:
    Fd open(const std::string& path, int flags) const;
    void attach(const Fd& tree, const std::string& target) const;

    std::string rootfs_;
    Fd root_;
};

} // namespace gpuctr_setup
