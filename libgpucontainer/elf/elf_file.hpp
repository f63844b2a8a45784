// SPDX-License-Identifier: MIT
#pragma once

#include "base/c_handle.hpp"
#include "base/open_file.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <gelf.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// The part of the dynamic section that is used here. Addresses are those of the running program;
/// strings are offsets into the string table.
struct Dynamic {
    std::uint64_t strings_address = 0;
    std::uint64_t strings_size = 0;
    std::uint64_t soname = 0; ///< 0 means none: offset 0 is the empty string
    std::uint64_t runpath = 0;
    std::uint64_t rpath = 0;
    std::uint64_t needs_address = 0;       ///< Of the needed versions; 0 if there are none.
    std::uint64_t definitions_address = 0; ///< Of the defined versions; 0 if there are none.
    std::uint64_t indexes_address = 0;     ///< Of each symbol's version; 0 if there are none.
    std::uint64_t symbols_address = 0;     ///< This and the next two: 0 if there is none.
    std::uint64_t hash_address = 0;        ///< Of the hash table that all systems have.
    std::uint64_t gnu_hash_address = 0;
    std::uint64_t flags_1 = 0; ///< DF_1_*
    std::vector<std::uint64_t> needed;
};

/// What is wrong in a file of the driver.
Error malformed(std::string what);

/// An ELF file as the loader sees it: segments and what they point to. Uses pread, so that a
/// truncated file is an error and not SIGBUS, and reads only the few hundred bytes that are
/// needed.
class ElfFile {
public:
    /// `file` is borrowed for the lifetime of the object.
    static Result<ElfFile> open(base::FileRef file);

    const GElf_Ehdr& header() const noexcept { return header_; }

    /// Empty if the file has no dynamic section, like a static program.
    Result<Dynamic> dynamic() const;

    /// Text of the program interpreter segment; empty if there is none.
    Result<std::string> interpreter() const;

    /// The string at `offset` of the dynamic string table, of at most `limit`
    /// bytes and without control characters.
    Result<std::string> string_at(const Dynamic& dynamic, std::uint64_t offset, std::size_t limit);

    /// Content of the file at `address`: `limit` bytes, or as many as there are.
    Result<std::string> bytes_at(std::uint64_t address, std::size_t limit) const;

    /// Dynamic symbols; none without section headers. More than `most` are an error.
    Result<std::vector<GElf_Sym>> symbols(std::size_t most) const;

    /// A section of notes.
    struct Notes {
        std::string bytes;
        std::uint64_t alignment;
    };

    /// Sections of notes, except those of more than `largest` bytes; none without section headers.
    /// More than `most` are an error.
    Result<std::vector<Notes>> notes(std::size_t most, std::size_t largest) const;

    /// A part of the file.
    struct Range {
        std::uint64_t offset;
        std::uint64_t size;
    };

    /// Where the sections of these names are, in the file's order; none without section headers.
    /// Their content is not looked at. More than `most` are an error.
    Result<std::vector<Range>> sections(std::span<const std::string_view> names,
                                        std::size_t most) const;

private:
    using Handle = base::CHandle<Elf, elf_end>;

    /// The part of the string table that was read last, because the strings that are needed are
    /// often close together.
    struct Window {
        std::uint64_t offset = 0;
        std::string_view text;
    };

    ElfFile(base::FileRef file, Handle elf, std::uint64_t file_size) noexcept
        : file_(file), elf_(std::move(elf)), file_size_(file_size)
    {
    }

    Result<void> read_header();
    Result<void> read_segments();
    /// Has the section headers in the file's descriptor.
    Result<void> fetch_sections() const;
    /// Content of the file at `address`: `limit` bytes, or as many as there are. In the byte order
    /// of this machine, except for ELF_T_BYTE.
    Result<Elf_Data*> data_at(std::uint64_t address, std::size_t limit,
                              Elf_Type type = ELF_T_BYTE) const;
    Result<Window> strings_at(const Dynamic& dynamic, std::uint64_t offset, std::size_t size) const;
    Result<std::string_view> section_names() const;
    Result<Range> find(std::uint64_t address) const;
    Result<Elf_Data*> data(Range range, Elf_Type type) const;

    base::FileRef file_;
    Handle elf_;
    std::uint64_t file_size_;
    GElf_Ehdr header_ = {};
    std::vector<GElf_Phdr> loaded_;
    Window window_;
    GElf_Phdr dynamic_ = {};     ///< PT_NULL if there is none
    GElf_Phdr interpreter_ = {}; ///< PT_NULL if there is none
};

} // namespace gpucontainer::elf
