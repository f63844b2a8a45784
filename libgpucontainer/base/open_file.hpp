// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpucontainer::base {

/// The content of a file that comes into its descriptor in parts, when somebody needs them. It owns
/// the descriptor, at whose position nobody reads: several may have the file open.
class Content {
public:
    virtual ~Content() = default;
    virtual int fd() const noexcept = 0;
    /// Brings `size` bytes from `offset`, or as many as there are. Errors have an errno value;
    /// EFBIG: more than it is willing to bring.
    virtual Result<void> fetch(std::uint64_t offset, std::uint64_t size) = 0;
};

/// A regular file that somebody else has open for reading. Of a file in a compressed image, the
/// descriptor has only the parts that were fetched; the others read as zeros.
class FileRef {
public:
    // NOLINTNEXTLINE(google-explicit-constructor): a descriptor is a file of which all is there.
    FileRef(int fd, Content* content = nullptr) noexcept : fd_(fd), content_(content) {}

    /// To be called before the descriptor is read there.
    Result<void> fetch(std::uint64_t offset, std::uint64_t size) const
    {
        return content_ == nullptr ? Result<void>() : content_->fetch(offset, size);
    }
    int fd() const noexcept { return fd_; }
    /// Whether it has to be fetched, which takes longer than reading.
    bool comes_in_parts() const noexcept { return content_ != nullptr; }

private:
    int fd_;
    Content* content_;
};

/// Owns a regular file that is open for reading.
class OpenFile {
public:
    OpenFile() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): as for FileRef.
    OpenFile(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
    explicit OpenFile(std::shared_ptr<Content> content) noexcept : content_(std::move(content)) {}

    FileRef get() const noexcept
    {
        return content_ == nullptr ? FileRef(fd_.get()) : FileRef(content_->fd(), content_.get());
    }
    explicit operator bool() const noexcept { return fd_ || content_ != nullptr; }

    /// Reads from `offset` until `bytes` are full or the file ends; returns how many were read.
    Result<std::size_t> read(std::span<char> bytes, std::uint64_t offset) const;
    /// Its length. Errors have an errno value.
    Result<std::uint64_t> size() const;

private:
    UniqueFd fd_;
    std::shared_ptr<Content> content_; ///< In place of the descriptor.
};

} // namespace gpucontainer::base
