// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::test {

struct Elf32 {
    using Header = Elf32_Ehdr;
    using Segment = Elf32_Phdr;
    using Dynamic = Elf32_Dyn;
    static constexpr unsigned char elf_class = ELFCLASS32;
    static constexpr std::uint16_t machine = EM_386;
};

struct Elf64 {
    using Header = Elf64_Ehdr;
    using Segment = Elf64_Phdr;
    using Dynamic = Elf64_Dyn;
    static constexpr unsigned char elf_class = ELFCLASS64;
    static constexpr std::uint16_t machine = EM_X86_64;
};

/// A library without code: header, segments, dynamic section, strings. Each
/// part may be spoilt before bytes() puts them together.
///
///     ElfImage image;
///     image.add(DT_SONAME, image.string("libcuda.so.1"));
///     auto facts = elf::read_facts(memory_file(image.bytes()).get());
template <typename Types = Elf64>
class ElfImage {
public:
    static constexpr std::size_t dynamic_offset = 0x400;
    static constexpr std::size_t strings_offset = 0x800;
    static constexpr std::size_t load_address = 0x10000;

    ElfImage()
    {
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = Types::elf_class;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_DYN;
        header.e_machine = Types::machine;
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof header;
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof(typename Types::Segment);
        header.e_phnum = 2;
        load.p_type = PT_LOAD;
        load.p_vaddr = load_address;
        dynamic.p_type = PT_DYNAMIC;
        dynamic.p_offset = dynamic_offset;
        dynamic.p_vaddr = load_address + dynamic_offset;
    }

    /// Offset of `text` in the string table.
    std::uint32_t string(std::string_view text)
    {
        const auto offset = static_cast<std::uint32_t>(strings.size());
        strings.append(text).push_back('\0');
        return offset;
    }

    void add(std::int64_t tag, std::uint64_t value)
    {
        typename Types::Dynamic entry = {};
        entry.d_tag = static_cast<decltype(entry.d_tag)>(tag);
        entry.d_un.d_val = static_cast<decltype(entry.d_un.d_val)>(value);
        entries.push_back(entry);
    }

    /// Adds the entries for the string table and the end, then lays it all out.
    std::string bytes()
    {
        add(DT_STRTAB, load_address + strings_offset);
        add(DT_STRSZ, strings.size());
        add(DT_NULL, 0);
        return raw_bytes();
    }

    std::string raw_bytes()
    {
        dynamic.p_filesz = static_cast<decltype(dynamic.p_filesz)>(
            entries.size() * sizeof(typename Types::Dynamic));
        std::string result(strings_offset, '\0');
        result.append(strings);
        load.p_filesz = static_cast<decltype(load.p_filesz)>(result.size());
        std::memcpy(result.data(), &header, sizeof header);
        std::memcpy(result.data() + sizeof header, &load, sizeof load);
        std::memcpy(result.data() + sizeof header + sizeof load, &dynamic, sizeof dynamic);
        if (!entries.empty())
            std::memcpy(result.data() + dynamic_offset, entries.data(), dynamic.p_filesz);
        return result;
    }

    typename Types::Header header = {};
    typename Types::Segment load = {};
    typename Types::Segment dynamic = {};
    std::vector<typename Types::Dynamic> entries;
    std::string strings = std::string(1, '\0');
};

/// An unnamed regular file with `content`.
inline base::UniqueFd memory_file(std::string_view content)
{
    base::UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    const auto written = ::pwrite(fd.get(), content.data(), content.size(), 0);
    return written == static_cast<ssize_t>(content.size()) ? std::move(fd) : base::UniqueFd();
}

} // namespace gpucontainer::test
