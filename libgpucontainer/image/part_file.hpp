// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "image/file_system.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace gpucontainer::image {

/// Of each file as much comes into its descriptor as is asked for, and no more than this; and no
/// more of all files of an image together, with what has to be fetched again.
constexpr std::uint64_t most_of_file = std::uint64_t{64} << 20U;
constexpr std::uint64_t most_of_files = std::uint64_t{512} << 20U;

/// Files of an image as files in memory, into which their parts come when they are fetched. They
/// are kept, so that a file which is opened again has the parts that it had: fetching one may take
/// as long as decoding a block. For one thread at a time.
class PartFiles {
public:
    explicit PartFiles(std::shared_ptr<FileSystem> files);

    /// The file system stays as long as the file, which may be open more than once. Errors: EFBIG,
    /// if it is larger than this process may make files.
    Result<base::OpenFile> open(Reference place, std::uint64_t size);

    /// What is kept at most: descriptors, of which this process may have few, and bytes, with those
    /// that are fetched meanwhile.
    static constexpr std::size_t most_kept = 256;
    static constexpr std::uint64_t most_kept_bytes = std::uint64_t{128} << 20U;

private:
    void make_room();

    std::shared_ptr<FileSystem> files_;
    std::shared_ptr<std::uint64_t> budget_; ///< Of `most_of_files`, what is left.
    std::uint64_t budget_then_;             ///< When nothing was kept.
    std::unordered_map<Reference, std::shared_ptr<base::Content>> kept_;
};

} // namespace gpucontainer::image
