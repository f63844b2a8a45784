// SPDX-License-Identifier: MIT
#pragma once

#include "unit/elf/elf_image.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <initializer_list>
#include <string>
#include <string_view>

/// Code for GPUs as programs have it: headers, and content that nobody looks at.
namespace gpucontainer::test {

template <typename Number>
void put(std::string& bytes, std::size_t offset, Number number)
{
    std::memcpy(bytes.data() + offset, &number, sizeof number);
}

inline constexpr std::uint16_t ptx = 1;
inline constexpr std::uint16_t machine_code = 2;

/// An entry of a container, with `size` bytes of content.
inline std::string code_entry(std::uint16_t kind, std::uint32_t architecture, std::size_t size = 24,
                              std::uint32_t header_size = 64)
{
    std::string bytes(header_size + size, '\x5a');
    std::memset(bytes.data(), 0, header_size);
    put<std::uint16_t>(bytes, 0, kind);
    put<std::uint16_t>(bytes, 2, 0x101);
    put<std::uint32_t>(bytes, 4, header_size);
    put<std::uint64_t>(bytes, 8, size);
    put<std::uint32_t>(bytes, 28, architecture);
    return bytes;
}

/// A container with these entries.
inline std::string code_container(std::string_view entries)
{
    std::string bytes(16, '\0');
    put<std::uint32_t>(bytes, 0, 0xBA55ED50);
    put<std::uint16_t>(bytes, 4, 1);
    put<std::uint16_t>(bytes, 6, 16);
    put<std::uint64_t>(bytes, 8, entries.size());
    return bytes.append(entries);
}

/// A container with code of both kinds.
inline std::string code_for(std::initializer_list<std::uint32_t> machine,
                            std::initializer_list<std::uint32_t> translated = {})
{
    std::string entries;
    for (const std::uint32_t one : machine)
        entries += code_entry(machine_code, one);
    for (const std::uint32_t one : translated)
        entries += code_entry(ptx, one);
    return code_container(entries);
}

/// A library with a section of this name and content.
inline std::string library_with(std::string_view section, std::string_view content)
{
    ElfImage<Elf64> image;
    image.add(DT_SONAME, image.string("libkernels.so"));
    std::string bytes = image.bytes();
    const auto align = [&] { bytes.resize((bytes.size() + 7) / 8 * 8); };
    align();
    Elf64_Shdr code = {};
    code.sh_name = 1;
    code.sh_type = SHT_PROGBITS;
    code.sh_offset = bytes.size();
    code.sh_size = content.size();
    bytes += content;
    std::string names(1, '\0');
    names.append(section).push_back('\0');
    Elf64_Shdr of_names = {};
    of_names.sh_type = SHT_STRTAB;
    of_names.sh_offset = bytes.size();
    of_names.sh_size = names.size();
    bytes += names;
    align();
    Elf64_Ehdr header = {};
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_shoff = bytes.size();
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::memcpy(bytes.data(), &header, sizeof header);
    const Elf64_Shdr none = {};
    for (const Elf64_Shdr& one : {none, code, of_names})
        bytes.append(reinterpret_cast<const char*>(&one), sizeof one);
    return bytes;
}

inline std::string library_with_code(std::string_view containers)
{
    return library_with(".nv_fatbin", containers);
}

} // namespace gpucontainer::test
