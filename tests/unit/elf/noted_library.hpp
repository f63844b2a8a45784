// SPDX-License-Identifier: MIT
#pragma once

#include "elf/facts.hpp"
#include "unit/elf/elf_image.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace gpucontainer::test {

/// A note as a linker writes it.
inline std::string note(std::string_view owner, std::string_view text)
{
    const auto padded = [](std::string part) {
        part.resize((part.size() + 3) / 4 * 4, '\0');
        return part;
    };
    Elf64_Nhdr header = {};
    header.n_namesz = static_cast<Elf64_Word>(owner.size() + 1);
    header.n_descsz = static_cast<Elf64_Word>(text.size());
    header.n_type = 1;
    return std::string(reinterpret_cast<const char*>(&header), sizeof header)
           + padded(std::string(owner) + '\0') + padded(std::string(text));
}

/// A library of this machine whose only section has these notes.
inline std::string noted_library(const std::string& soname, const std::string& notes,
                                 std::uint64_t alignment = 4)
{
    ElfImage<Elf64> image;
#if defined(__aarch64__)
    image.header.e_machine = EM_AARCH64;
#endif
    image.add(DT_SONAME, image.string(soname));
    std::string bytes = image.bytes();
    bytes.resize((bytes.size() + 7) / 8 * 8);
    Elf64_Shdr section = {};
    section.sh_type = SHT_NOTE;
    section.sh_offset = bytes.size();
    section.sh_size = notes.size();
    section.sh_addralign = alignment;
    bytes += notes;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    Elf64_Ehdr header = {};
    std::memcpy(&header, bytes.data(), sizeof header);
    header.e_shoff = bytes.size();
    header.e_shnum = 2;
    header.e_shentsize = sizeof section;
    std::memcpy(bytes.data(), &header, sizeof header);
    const Elf64_Shdr none = {};
    bytes.append(reinterpret_cast<const char*>(&none), sizeof none);
    bytes.append(reinterpret_cast<const char*>(&section), sizeof section);
    return bytes;
}

} // namespace gpucontainer::test
