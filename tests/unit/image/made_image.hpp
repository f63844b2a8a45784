// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace gpucontainer::test {

/// Makes squashfs of a tree, as mksquashfs does.
inline std::string squashfs_of(const TempRoot& tree, const std::string& options = "-comp gzip")
{
    const TempRoot place;
    const std::string path = place.at("image");
    const std::string command = "PATH=$PATH:/usr/sbin mksquashfs '" + tree.at("").string() + "' '"
                                + path + "' -quiet -no-progress -all-root " + options
                                + " >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A file with this content.
inline base::UniqueFd file_of(std::string_view content)
{
    base::UniqueFd fd(::memfd_create("image", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    return fd;
}

} // namespace gpucontainer::test
