// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "rootfs/view.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::image {

/// Where an inode lies in an image.
using Reference = std::uint64_t;

struct Inode {
    rootfs::EntryType type = rootfs::EntryType::none;
    std::uint32_t mode = 0;  ///< Permission bits.
    std::uint64_t size = 0;  ///< Of a regular file.
    std::uint32_t mtime = 0; ///< In seconds.
    std::string target;      ///< Of a symbolic link.
};

struct Name {
    std::string name;
    Reference inode = 0;
    rootfs::EntryType type = rootfs::EntryType::none; ///< As the directory says.
};

constexpr std::size_t most_names = 100'000; ///< In a directory.
constexpr std::size_t longest_name = 256;
constexpr std::size_t longest_target = 4096;
constexpr std::size_t most_image_variables = 10'000;

/// A file system in an image, as it is stored. Whoever made it may be hostile: a directory may
/// contain itself. Errors are those of error_of().
class FileSystem {
public:
    virtual ~FileSystem() = default;

    virtual Result<Reference> root() = 0;
    virtual Result<Inode> inode(Reference place) = 0;
    /// In the order of their names, each of which is one.
    virtual Result<std::vector<Name>> list(Reference directory) = 0;
    /// Reads up to `bytes.size()`, at most `largest_part`, from `offset`, and returns how many.
    virtual Result<std::size_t> read(Reference file, std::uint64_t offset,
                                     std::span<char> bytes) = 0;
    /// NAME=VALUE each, without NUL: what the image sets for its programs, besides files in it.
    virtual Result<std::vector<std::string>> variables() { return std::vector<std::string>(); }

    static constexpr std::size_t largest_part = std::size_t{1} << 20U;
};

/// What a failure of a file system means:
///
/// - EBADMSG: it is damaged, or reading it takes too much time or memory
/// - EOPNOTSUPP: it is of a kind that cannot be read
/// - EFBIG: there are more than `most_names` names, or more bytes than are read of a file
/// - EIO: the file cannot be read
/// - a Refusal, which `detail` is about
Error error_of(int os_error, std::string_view detail = {});
/// The number that stands for such an error. The detail is its object.
int os_error_of(const Error& error) noexcept;

} // namespace gpucontainer::image
