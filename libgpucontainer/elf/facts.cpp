// SPDX-License-Identifier: MIT
#include "elf/facts.hpp"

#include "base/text.hpp"
#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <climits>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t max_soname_length = NAME_MAX;
constexpr std::size_t max_needed_length = PATH_MAX - 1;
constexpr std::size_t max_runpath_length = 32'768;
constexpr std::size_t max_needed = 1024;

Facts identity_of(const GElf_Ehdr& header)
{
    Facts facts;
    facts.elf_class =
        header.e_ident[EI_CLASS] == ELFCLASS64 ? Facts::Class::elf64 : Facts::Class::elf32;
    facts.byte_order =
        header.e_ident[EI_DATA] == ELFDATA2LSB ? std::endian::little : std::endian::big;
    facts.machine = header.e_machine;
    facts.type = header.e_type;
    return facts;
}

Result<std::string> read_soname(ElfFile& file, const Dynamic& dynamic)
{
    if (dynamic.soname == 0)
        return std::string();
    GPUCTR_TRY(std::string soname, file.string_at(dynamic, dynamic.soname, max_soname_length),
               "soname");
    if (soname.find('/') != std::string::npos || soname == "." || soname == "..")
        return Error(Errc::driver, "soname is not a file name");
    return soname;
}

Result<std::vector<std::string>> read_path(ElfFile& file, const Dynamic& dynamic,
                                           std::uint64_t offset)
{
    std::vector<std::string> directories;
    if (offset == 0)
        return directories;
    GPUCTR_TRY(const std::string text, file.string_at(dynamic, offset, max_runpath_length),
               "runpath");
    for (const std::string_view directory : base::split(text, ':')) {
        if (!directory.empty()) // to the loader, "" means the working directory
            directories.emplace_back(directory);
    }
    return directories;
}

} // namespace

Result<Facts> read_facts(base::FileRef source)
{
    GPUCTR_TRY(ElfFile file, ElfFile::open(source));
    GPUCTR_TRY(const Dynamic dynamic, file.dynamic());
    if (dynamic.needed.size() > max_needed)
        return Error(Errc::driver, "too many needed libraries");

    Facts facts = identity_of(file.header());
    GPUCTR_TRY(facts.soname, read_soname(file, dynamic));
    facts.needed.reserve(dynamic.needed.size());
    for (const std::uint64_t offset : dynamic.needed) {
        GPUCTR_TRY(std::string name, file.string_at(dynamic, offset, max_needed_length),
                   "needed library");
        facts.needed.push_back(std::move(name));
    }
    GPUCTR_TRY(facts.runpath, read_path(file, dynamic, dynamic.runpath));
    if (dynamic.runpath == 0) {
        GPUCTR_TRY(facts.rpath, read_path(file, dynamic, dynamic.rpath));
    }
    GPUCTR_TRY(facts.interpreter, file.interpreter());
    facts.no_default_directories = (dynamic.flags_1 & DF_1_NODEFLIB) != 0;
    return facts;
}

std::string_view machine_name(std::uint16_t machine) noexcept
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_386:
        return "i386";
    case EM_ARM:
        return "arm";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390";
    case EM_RISCV:
        return "riscv";
    case EM_LOONGARCH:
        return "loongarch";
    default:
        return "unknown machine";
    }
}

} // namespace gpucontainer::elf
