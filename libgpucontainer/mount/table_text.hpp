// SPDX-License-Identifier: MIT
#pragma once

#include "mount/mapped_memory.hpp"

#include <cstddef>
#include <string_view>
#include <sys/types.h>

namespace gpucontainer::mount {

/// What a mount table is read from, part by part.
class TableSource {
public:
    virtual bool rewind() noexcept = 0;
    /// As read(2).
    virtual ssize_t read(char* to, std::size_t size) noexcept = 0;

protected:
    TableSource() = default;
    TableSource(const TableSource&) = default;
    TableSource& operator=(const TableSource&) = default;
    ~TableSource() = default;
};

/// A whole mount table. Before Linux 5.8 one that is read in parts leaves out lines when
/// a mount that was read already is unmounted meanwhile; then the next reading is another,
/// too. In memory of its own: safe between clone and exec of a threaded process.
class TableText {
public:
    /// Until two readings in a row are the same. False with errno; EAGAIN when the table
    /// does not come to rest.
    bool take(TableSource& source) noexcept;
    std::string_view view() const noexcept { return {data(), size_}; }

private:
    bool read(TableSource& source) noexcept;
    char* data() const noexcept { return static_cast<char*>(memory_.data()); }

    MappedMemory memory_;
    std::size_t size_ = 0;
};

} // namespace gpucontainer::mount
