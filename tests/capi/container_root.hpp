// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpucontainer::test {

/// A small container root on a private tmpfs of its own, with just what a plan
/// looks for. For root, in a mount namespace of the test.
class ContainerRoot {
public:
    explicit ContainerRoot(std::string directory);
    ContainerRoot(const ContainerRoot&) = delete;
    ContainerRoot& operator=(const ContainerRoot&) = delete;
    ~ContainerRoot();

    const std::string& path() const noexcept { return path_; }
    std::string at(const std::string& name) const { return path_ + name; }
    /// O_PATH descriptor of the root.
    int fd() const noexcept { return fd_; }
    /// Every name in it with type, mode, inode, size and mtime, sorted.
    std::vector<std::string> listing() const;

private:
    std::string path_;
    int fd_ = -1;
};

/// Whether these tests can run: as root, or an error when CI demands it.
bool may_mount();

} // namespace gpucontainer::test
