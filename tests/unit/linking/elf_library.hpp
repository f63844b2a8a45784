// SPDX-License-Identifier: MIT
#pragma once

#include "unit/elf/elf_image.hpp"

#include <cstring>
#include <elf.h>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::test {

/// A library or program without code, which says what a loader reads:
///
///     ElfLibrary library;
///     library.needed = {"libc.so.6"};
///     view.file("/usr/lib/libx.so.1", library.bytes());
struct ElfLibrary {
    struct Symbol {
        std::string name;
        bool defined = false;
        bool weak = false;
    };

    std::string soname;
    std::vector<std::string> needed;
    std::string interpreter;
    std::string rpath;
    std::string runpath;
    std::vector<std::pair<std::string, std::string>> versions; ///< Needed: library and version.
    std::vector<std::string> defines;
    std::vector<Symbol> symbols;
    std::uint16_t machine = EM_X86_64;
    unsigned char byte_order = ELFDATA2LSB;
    bool no_default_directories = false;

    std::string bytes() const
    {
        ElfImage<> image;
        image.header.e_machine = machine;
        image.header.e_ident[EI_DATA] = byte_order;
        for (const std::string& name : needed)
            image.add(DT_NEEDED, image.string(name));
        for (const auto& [tag, text] :
             {std::pair(DT_SONAME, soname), {DT_RPATH, rpath}, {DT_RUNPATH, runpath}})
            if (!text.empty())
                image.add(tag, image.string(text));
        if (no_default_directories)
            image.add(DT_FLAGS_1, DF_1_NODEFLIB);
        add_versions(image);
        add_symbols(image);
        const std::uint64_t interpreter_at = image.string(interpreter);
        std::string made = image.bytes();
        if (!interpreter.empty())
            add_interpreter(made, ElfImage<>::strings_offset + interpreter_at);
        return made;
    }

private:
    template <typename Record>
    static void append(std::string& to, const Record& record)
    {
        to.append(reinterpret_cast<const char*>(&record), sizeof record);
    }

    /// Puts `table` behind the strings and says where it is.
    static void place(ElfImage<>& image, std::int64_t tag, const std::string& table)
    {
        image.strings.resize((image.strings.size() + 7) / 8 * 8);
        image.add(tag,
                  ElfImage<>::load_address + ElfImage<>::strings_offset + image.strings.size());
        image.strings += table;
    }

    void add_versions(ElfImage<>& image) const
    {
        std::string needs;
        for (std::size_t i = 0; i < versions.size(); ++i) {
            Elf64_Verneed file = {VER_NEED_CURRENT, 1, image.string(versions[i].first), sizeof file,
                                  0};
            Elf64_Vernaux entry = {0, 0, 2, image.string(versions[i].second), 0};
            file.vn_next = i + 1 < versions.size() ? sizeof file + sizeof entry : 0;
            append(needs, file);
            append(needs, entry);
        }
        if (!needs.empty())
            place(image, DT_VERNEED, needs);
        std::string own;
        for (std::size_t i = 0; i < defines.size(); ++i) {
            Elf64_Verdef record = {VER_DEF_CURRENT, 0, 1, 1, 0, sizeof record, 0};
            Elf64_Verdaux entry = {image.string(defines[i]), 0};
            record.vd_next = i + 1 < defines.size() ? sizeof record + sizeof entry : 0;
            append(own, record);
            append(own, entry);
        }
        if (!own.empty())
            place(image, DT_VERDEF, own);
    }

    void add_symbols(ElfImage<>& image) const
    {
        std::string table(sizeof(Elf64_Sym), '\0');
        for (const Symbol& symbol : symbols) {
            Elf64_Sym record = {};
            record.st_name = image.string(symbol.name);
            record.st_info = static_cast<unsigned char>(
                ELF64_ST_INFO(symbol.weak ? STB_WEAK : STB_GLOBAL, STT_FUNC));
            record.st_shndx = symbol.defined ? SHN_ABS : SHN_UNDEF;
            append(table, record);
        }
        place(image, DT_SYMTAB, table);
        std::string hash;
        for (const std::size_t word : {std::size_t{1}, symbols.size() + 1})
            append(hash, static_cast<std::uint32_t>(word));
        place(image, DT_HASH, hash);
    }

    void add_interpreter(std::string& made, std::uint64_t offset) const
    {
        Elf64_Ehdr header = {};
        std::memcpy(&header, made.data(), sizeof header);
        Elf64_Phdr segment = {};
        segment.p_type = PT_INTERP;
        segment.p_offset = offset;
        segment.p_filesz = interpreter.size() + 1;
        std::memcpy(made.data() + sizeof header + header.e_phnum * sizeof segment, &segment,
                    sizeof segment);
        ++header.e_phnum;
        std::memcpy(made.data(), &header, sizeof header);
    }
};

} // namespace gpucontainer::test
