// SPDX-License-Identifier: MIT
#pragma once

#include "mount/mapped_memory.hpp"

#include <cstddef>
#include <string_view>
#include <sys/types.h>

namespace gpucontainer::mount {

/// The source from which a mount table is read in parts.
class TableSource {
public:
    virtual bool rewind() noexcept = 0;
    /// Like read(2).
    virtual ssize_t read(char* to, std::size_t size) noexcept = 0;

protected:
    TableSource() = default;
    TableSource(const TableSource&) = default;
    TableSource& operator=(const TableSource&) = default;
    ~TableSource() = default;
};

/// A whole mount table. Before Linux 5.8, reading a table in parts misses lines if a mount that was
/// read already is unmounted meanwhile. Then another reading gives another text. Its memory is
/// MappedMemory, so it is safe between clone and exec of a threaded process.
class TableText {
public:
    /// Reads it until two readings in a row are the same. False with errno; EAGAIN if the table
    /// keeps changing.
    bool take(TableSource& source) noexcept;
    std::string_view view() const noexcept { return {data(), size_}; }

private:
    bool read(TableSource& source) noexcept;
    char* data() const noexcept { return static_cast<char*>(memory_.data()); }

    MappedMemory memory_;
    std::size_t size_ = 0;
};

} // namespace gpucontainer::mount
