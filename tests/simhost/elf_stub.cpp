// SPDX-License-Identifier: MIT
#include "elf_stub.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "elf_versions.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <optional>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t max_names = 1000;

struct Architecture {
    std::string_view name;
    std::uint16_t number;
    std::string_view interpreter; ///< Empty where executables are not made.
    std::string_view exit_code;   ///< Architecture code of exit(0).
    std::string_view short_name;  ///< As reports have it.
};

using namespace std::string_view_literals;

constexpr std::array machines = {
    // xor edi,edi; mov eax,60; syscall
    Architecture{"Advanced Micro Devices X86-64", EM_X86_64, "/lib64/ld-linux-x86-64.so.2",
                 "\x31\xff\xb8\x3c\x00\x00\x00\x0f\x05"sv, "x86-64"},
    // mov x0,#0; mov x8,#93; svc #0
    Architecture{"AArch64", EM_AARCH64, "/lib/ld-linux-aarch64.so.1",
                 "\x00\x00\x80\xd2\xa8\x0b\x80\xd2\x01\x00\x00\xd4"sv, "aarch64"},
    Architecture{"Intel 80386", EM_386, {}, {}, "i386"},
    Architecture{"ARM", EM_ARM, {}, {}, "arm"},
    Architecture{"RISC-V", EM_RISCV, {}, {}, "riscv"},
    Architecture{"PowerPC64", EM_PPC64, {}, {}, "ppc64"},
    Architecture{"IBM S/390", EM_S390, {}, {}, "s390"},
    Architecture{"LoongArch", 258, {}, {}, "loongarch"},
};

struct Elf32 {
    using Header = Elf32_Ehdr;
    using Segment = Elf32_Phdr;
    using Dynamic = Elf32_Dyn;
    using Symbol = Elf32_Sym;
    using Address = Elf32_Addr;
    static constexpr unsigned char class_number = ELFCLASS32;
};

struct Elf64 {
    using Header = Elf64_Ehdr;
    using Segment = Elf64_Phdr;
    using Dynamic = Elf64_Dyn;
    using Symbol = Elf64_Sym;
    using Address = Elf64_Addr;
    static constexpr unsigned char class_number = ELFCLASS64;
};

/// Puts one file together, from its header on. An address is a file offset:
/// everything lies in one segment at 0.
template <typename Elf>
class Writer {
public:
    Writer(const ElfStub& stub, const Architecture& machine) : stub_(stub), machine_(machine)
    {
        header_.e_ident[EI_CLASS] = Elf::class_number;
        header_.e_ident[EI_DATA] = ELFDATA2LSB;
        header_.e_ident[EI_VERSION] = EV_CURRENT;
        std::copy_n(ELFMAG, SELFMAG, static_cast<unsigned char*>(header_.e_ident));
        header_.e_machine = machine.number;
        header_.e_version = EV_CURRENT;
        header_.e_ehsize = sizeof header_;
    }

    std::string header_only(std::uint16_t type)
    {
        header_.e_type = type;
        std::string bytes;
        append(bytes, header_);
        return bytes;
    }

    std::string dynamic_file()
    {
        const bool starts = stub_.kind == StubKind::executable && !machine_.interpreter.empty();
        const std::size_t segments = starts ? 5 : 3;
        bytes_.assign(sizeof header_ + segments * sizeof(typename Elf::Segment), '\0');

        if (starts) {
            // without it the loader does not know where the kernel put the file
            add_segment(PT_PHDR, PF_R, sizeof header_, bytes_.size() - sizeof header_);
            const std::string interpreter(stub_.interpreter.empty() ? machine_.interpreter
                                                                    : stub_.interpreter);
            const auto offset = place(interpreter + '\0');
            add_segment(PT_INTERP, PF_R, offset, interpreter.size() + 1);
            header_.e_entry = place(machine_.exit_code);
        }
        const auto [offset, size] = place_dynamic();
        const std::size_t used = bytes_.size();
        add_segment(PT_LOAD, PF_R | PF_W | (starts ? PF_X : 0U), 0, used);
        add_segment(PT_DYNAMIC, PF_R | PF_W, offset, size);
        add_segment(PT_GNU_STACK, PF_R | PF_W, 0, 0);

        header_.e_type = ET_DYN;
        header_.e_phoff = sizeof header_;
        header_.e_phentsize = sizeof(typename Elf::Segment);
        header_.e_phnum = static_cast<std::uint16_t>(segments_.size());
        std::string start;
        append(start, header_);
        for (const auto& segment : segments_)
            append(start, segment);
        bytes_.replace(0, start.size(), start);
        return std::move(bytes_);
    }

private:
    using Address = typename Elf::Address;

    template <typename Value>
    static void append(std::string& to, const Value& value)
    {
        to.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    /// Appends at an aligned offset, which it returns.
    Address place(std::string_view part)
    {
        constexpr std::size_t alignment = 8;
        bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
        const auto offset = static_cast<Address>(bytes_.size());
        bytes_ += part;
        return offset;
    }

    void add_segment(std::uint32_t type, std::uint32_t flags, Address offset, std::size_t size)
    {
        typename Elf::Segment segment = {};
        segment.p_type = type;
        segment.p_flags = flags;
        segment.p_offset = offset;
        segment.p_vaddr = offset;
        segment.p_paddr = offset;
        segment.p_filesz = static_cast<Address>(size);
        segment.p_memsz = static_cast<Address>(size);
        segment.p_align = type == PT_LOAD ? 0x1000 : 8;
        segments_.push_back(segment);
    }

    void add_tag(std::int32_t tag, Address value)
    {
        typename Elf::Dynamic entry = {};
        entry.d_tag = tag;
        entry.d_un.d_val = value;
        append(dynamic_, entry);
    }

    std::pair<Address, std::size_t> place_dynamic()
    {
        StringTable strings;
        for (const std::string& name : stub_.needed)
            add_tag(DT_NEEDED, static_cast<Address>(strings.add(name)));
        if (!stub_.soname.empty())
            add_tag(DT_SONAME, static_cast<Address>(strings.add(stub_.soname)));
        if (!stub_.rpath.empty())
            add_tag(DT_RPATH, static_cast<Address>(strings.add(stub_.rpath)));
        if (!stub_.runpath.empty())
            add_tag(DT_RUNPATH, static_cast<Address>(strings.add(stub_.runpath)));
        const VersionNeeds versions =
            make_version_needs(stub_.needed, stub_.versions, stub_.strict, strings);
        const std::string definitions = make_version_definitions(stub_.definitions, strings);

        // One bucket, one symbol, and that is the undefined one.
        constexpr std::array<std::uint32_t, 4> hash = {1, 1, 0, 0};
        std::string hash_bytes;
        append(hash_bytes, hash);
        std::string symbols;
        append(symbols, typename Elf::Symbol{});

        add_tag(DT_HASH, place(hash_bytes));
        add_tag(DT_SYMTAB, place(symbols));
        add_tag(DT_SYMENT, sizeof(typename Elf::Symbol));
        if (versions.files > 0 || !definitions.empty())
            add_tag(DT_VERSYM, place(std::string(sizeof(std::uint16_t), '\0')));
        if (!definitions.empty()) {
            add_tag(DT_VERDEF, place(definitions));
            add_tag(DT_VERDEFNUM, static_cast<Address>(stub_.definitions.size()));
        }
        if (versions.files > 0) {
            add_tag(DT_VERNEED, place(versions.bytes));
            add_tag(DT_VERNEEDNUM, static_cast<Address>(versions.files));
        }
        add_tag(DT_STRTAB, place(strings.bytes()));
        add_tag(DT_STRSZ, static_cast<Address>(strings.bytes().size()));
        if (stub_.kind == StubKind::executable)
            add_tag(DT_FLAGS_1, DF_1_PIE);
        add_tag(DT_NULL, 0);
        return {place(dynamic_), dynamic_.size()};
    }

    const ElfStub& stub_;
    const Architecture& machine_;
    typename Elf::Header header_ = {};
    std::vector<typename Elf::Segment> segments_;
    std::string bytes_;
    std::string dynamic_;
};

template <typename Elf>
std::string write(const ElfStub& stub, const Architecture& machine)
{
    Writer<Elf> writer(stub, machine);
    switch (stub.kind) {
    case StubKind::header_only:
        return writer.header_only(ET_EXEC);
    case StubKind::module:
        return writer.header_only(ET_REL);
    default:
        return writer.dynamic_file();
    }
}

} // namespace

Result<std::string> make_elf_stub(const ElfStub& stub)
{
    const auto machine = std::find_if(machines.begin(), machines.end(), [&](const Architecture& m) {
        return m.name == stub.machine || m.short_name == stub.machine;
    });
    if (machine == machines.end())
        return Error(Errc::usage, base::format("ELF machine '{}' is not known", stub.machine));
    if (stub.needed.size() > max_names || stub.versions.size() > max_names)
        return Error(Errc::usage, base::format("more than {} names in an ELF file", max_names));
    if (stub.elf_class == "ELF64")
        return write<Elf64>(stub, *machine);
    if (stub.elf_class == "ELF32")
        return write<Elf32>(stub, *machine);
    return Error(Errc::usage, base::format("ELF class '{}' is not known", stub.elf_class));
}

} // namespace gpucontainer::simhost
