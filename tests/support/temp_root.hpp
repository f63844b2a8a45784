// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace gpucontainer::test {

/// A directory tree that plays a host or a container root, built in place:
///
///     TempRoot host;
///     host.file("usr/lib/libcuda.so.1", "driver");
///     host.link("usr/lib/libcuda.so", "libcuda.so.1");
///
/// Removed with everything in it at the end of the scope.
class TempRoot {
public:
    TempRoot();
    TempRoot(const TempRoot&) = delete;
    TempRoot& operator=(const TempRoot&) = delete;
    ~TempRoot();

    void directory(std::string_view path);
    void file(std::string_view path, std::string_view content = {});
    void link(std::string_view path, std::string_view target);

    /// Host path of `path` in this tree.
    std::filesystem::path at(std::string_view path) const { return root_ / path; }
    std::string read(std::string_view path) const;

    /// O_PATH descriptor of the root directory.
    base::UniqueFd open() const;

private:
    std::filesystem::path root_;
};

} // namespace gpucontainer::test
