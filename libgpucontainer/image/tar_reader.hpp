// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_window.hpp"
#include "rootfs/view.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::image {

/// A file in a tar, as it is said there. Names are bytes without NUL.
struct TarEntry {
    std::string path;
    rootfs::EntryType type = rootfs::EntryType::none; ///< `none`: another name of `target`.
    std::string target;                               ///< Of a symbolic or hard link.
    Extent content;                                   ///< Of a regular file.
    std::uint64_t size = 0;                           ///< Of that, as programs see it.
    bool is_sparse = false;                           ///< Its content is stored without its holes.
    std::uint32_t mode = 0;
    std::uint32_t mtime = 0; ///< In seconds; 0 if it is not known.
};

/// Reads what a tar is a list of, and passes over contents. Whoever made it may be hostile. The
/// forms are those of POSIX (ustar and pax) and of GNU tar; meaning what Go's archive/tar takes
/// them to mean, by which containers are made of layers. Global headers of pax mean nothing there.
class TarReader {
public:
    /// `file` stays as long as this. The tar lies within the file.
    TarReader(FileWindow& file, const Extent& tar) noexcept
        : file_(file), at_(tar.offset), end_(tar.offset + tar.size)
    {
    }

    /// False at the end. What contents there are lies within the tar. Errors: EBADMSG, EIO.
    Result<bool> next(TarEntry& entry);

private:
    struct Words;
    using Block = std::array<char, 512>;

    Result<bool> read_header(Block& header);
    Result<std::string> read_text(std::uint64_t size);
    Result<void> read_words(const Block& header, Words& words);
    Result<void> skip(std::uint64_t size);
    Result<void> pass_maps(const Block& header);
    Result<void> read_names(const Block& header, Words& words, TarEntry& entry);
    Result<void> read_content(const Block& header, Words& words, TarEntry& entry);

    FileWindow& file_;
    std::uint64_t at_;
    std::uint64_t end_;
};

/// Whether a tar, of which these are the first bytes, can be told from other files.
bool begins_like_tar(std::string_view bytes);
constexpr std::size_t tar_header_size = 512;

} // namespace gpucontainer::image
