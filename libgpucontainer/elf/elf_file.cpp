// SPDX-License-Identifier: MIT
#include "elf/elf_file.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::elf {

Error malformed(std::string what) { return {Errc::driver, std::move(what)}; }

namespace {

constexpr std::size_t max_segments = 256;
constexpr std::size_t max_dynamic_entries = 4096;
constexpr std::size_t max_interpreter_length = 4096;
constexpr std::size_t string_window = 512;
constexpr std::size_t largest_section_names = 64U << 10U; // those of a library have one KiB

/// libelf keeps its last error per thread, but not why a read failed. That is in errno, which
/// callers set to 0 before.
Error failed(std::string_view what)
{
    if (errno != 0)
        return Error::from_errno(errno, std::string(what), Errc::driver);
    const char* reason = elf_errmsg(-1);
    return malformed(base::format("{}: {}", what, reason != nullptr ? reason : "unknown reason"));
}

/// Initialises libelf, which writes a global variable, only once.
bool library_is_usable()
{
    static const bool usable = elf_version(EV_CURRENT) != EV_NONE;
    return usable;
}

/// A part of a file that is not to be had.
Error unread(Result<void> fetched) { return std::move(fetched).error().with_code(Errc::driver); }

/// libelf allocates a record for each section when it opens a file. With extended numbering (65280
/// sections and more), the count is a 64-bit number in the file. Such files are refused before
/// libelf sees them.
Result<void> check_identity(base::FileRef file)
{
    Elf64_Ehdr header = {};
    if (auto fetched = file.fetch(0, sizeof header); !fetched)
        return unread(std::move(fetched));
    ssize_t got = 0;
    do
        got = ::pread(file.fd(), &header, sizeof header, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return Error::from_errno(errno, "read", Errc::driver);
    if (got < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return malformed("not an ELF file");

    Elf32_Ehdr narrow = {};
    std::memcpy(&narrow, &header, sizeof narrow);
    const bool is_wide = header.e_ident[EI_CLASS] == ELFCLASS64;
    if (got < static_cast<ssize_t>(is_wide ? sizeof header : sizeof narrow))
        return malformed("file ends within the ELF header");
    const bool has_sections = is_wide ? header.e_shoff != 0 : narrow.e_shoff != 0;
    const bool has_count = is_wide ? header.e_shnum != 0 : narrow.e_shnum != 0;
    if (has_sections && !has_count)
        return malformed("ELF file with extended section numbering");
    return {};
}

void keep(const GElf_Dyn& entry, Dynamic& dynamic)
{
    switch (entry.d_tag) {
    case DT_STRTAB:
        dynamic.strings_address = entry.d_un.d_ptr;
        break;
    case DT_STRSZ:
        dynamic.strings_size = entry.d_un.d_val;
        break;
    case DT_SONAME:
        dynamic.soname = entry.d_un.d_val;
        break;
    case DT_RUNPATH:
        dynamic.runpath = entry.d_un.d_val;
        break;
    case DT_RPATH:
        dynamic.rpath = entry.d_un.d_val;
        break;
    case DT_VERNEED:
        dynamic.needs_address = entry.d_un.d_ptr;
        break;
    case DT_VERDEF:
        dynamic.definitions_address = entry.d_un.d_ptr;
        break;
    case DT_VERSYM:
        dynamic.indexes_address = entry.d_un.d_ptr;
        break;
    case DT_SYMTAB:
        dynamic.symbols_address = entry.d_un.d_ptr;
        break;
    case DT_HASH:
        dynamic.hash_address = entry.d_un.d_ptr;
        break;
    case DT_GNU_HASH:
        dynamic.gnu_hash_address = entry.d_un.d_ptr;
        break;
    case DT_FLAGS_1:
        dynamic.flags_1 = entry.d_un.d_val;
        break;
    case DT_NEEDED:
        dynamic.needed.push_back(entry.d_un.d_val);
        break;
    default:
        break;
    }
}

std::string_view bytes_of(const Elf_Data& data)
{
    return {static_cast<const char*>(data.d_buf), data.d_size};
}

} // namespace

Result<ElfFile> ElfFile::open(base::FileRef file)
{
    struct stat status = {};
    if (::fstat(file.fd(), &status) != 0)
        return Error::from_errno(errno, "read", Errc::driver);
    if (!S_ISREG(status.st_mode))
        return malformed("not a regular file");
    GPUCTR_CHECK(check_identity(file));
    if (!library_is_usable())
        return Error(Errc::internal, "libelf is older than its header");

    errno = 0;
    Handle elf(elf_begin(file.fd(), ELF_C_READ, nullptr));
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
        return failed("read ELF header");
    ElfFile opened(file, std::move(elf), static_cast<std::uint64_t>(status.st_size));
    GPUCTR_CHECK(opened.read_header());
    GPUCTR_CHECK(opened.read_segments());
    return opened;
}

Result<void> ElfFile::read_header()
{
    errno = 0;
    if (gelf_getehdr(elf_.get(), &header_) == nullptr)
        return failed("read ELF header");
    if (header_.e_phnum == 0)
        return {};
    if (header_.e_phnum > max_segments)
        return malformed(base::format("{} program headers", header_.e_phnum));
    if (header_.e_phentsize != gelf_fsize(elf_.get(), ELF_T_PHDR, 1, EV_CURRENT))
        return malformed(base::format("program headers of {} bytes", header_.e_phentsize));
    return {};
}

Result<void> ElfFile::read_segments()
{
    const auto size = std::uint64_t{header_.e_phnum} * header_.e_phentsize;
    if (auto fetched = file_.fetch(header_.e_phoff, size); !fetched)
        return unread(std::move(fetched));
    errno = 0;
    for (int i = 0; i < header_.e_phnum; ++i) {
        GElf_Phdr segment = {};
        if (gelf_getphdr(elf_.get(), i, &segment) == nullptr)
            return failed("read program headers");
        if (segment.p_type == PT_LOAD)
            loaded_.push_back(segment);
        if (segment.p_type == PT_INTERP)
            interpreter_ = segment;
        if (segment.p_type != PT_DYNAMIC)
            continue;
        if (dynamic_.p_type == PT_DYNAMIC)
            return malformed("more than one dynamic section");
        dynamic_ = segment;
    }
    return {};
}

Result<Dynamic> ElfFile::dynamic() const
{
    Dynamic dynamic;
    if (dynamic_.p_type != PT_DYNAMIC)
        return dynamic;
    const std::size_t entry_size = gelf_fsize(elf_.get(), ELF_T_DYN, 1, EV_CURRENT);
    const std::size_t count = dynamic_.p_filesz / entry_size;
    if (count > max_dynamic_entries)
        return malformed(base::format("dynamic section of {} entries", count));
    if (count == 0)
        return malformed("dynamic section is empty");

    // The address and not p_offset: it is what the loader goes by.
    GPUCTR_TRY(Elf_Data * data, data_at(dynamic_.p_vaddr, count * entry_size, ELF_T_DYN),
               "read dynamic section");
    errno = 0;
    for (int i = 0; i < static_cast<int>(data->d_size / entry_size); ++i) {
        GElf_Dyn entry = {};
        if (gelf_getdyn(data, i, &entry) == nullptr)
            return failed("read dynamic section");
        if (entry.d_tag == DT_NULL)
            return dynamic;
        keep(entry, dynamic);
    }
    return malformed("dynamic section has no end");
}

Result<std::string> ElfFile::interpreter() const
{
    if (interpreter_.p_type != PT_INTERP)
        return std::string();
    if (interpreter_.p_filesz > max_interpreter_length)
        return malformed("interpreter name is too long");
    GPUCTR_TRY(const Elf_Data* content,
               data({interpreter_.p_offset, interpreter_.p_filesz}, ELF_T_BYTE),
               "read interpreter name");
    const std::string_view text = bytes_of(*content);
    const std::string_view name = text.substr(0, text.find('\0'));
    if (name.size() == text.size() || std::ranges::any_of(name, base::is_control))
        return malformed("interpreter name is not a string");
    return std::string(name);
}

Result<std::string> ElfFile::string_at(const Dynamic& dynamic, std::uint64_t offset,
                                       std::size_t limit)
{
    if (offset >= dynamic.strings_size)
        return malformed("string outside the string table");

    std::string_view rest;
    std::size_t length = std::string_view::npos;
    if (offset >= window_.offset && offset - window_.offset < window_.text.size()) {
        rest = window_.text.substr(offset - window_.offset);
        length = rest.find('\0');
    }
    // One byte more than the limit, for the NUL.
    const std::array<std::size_t, 2> sizes = {std::min(string_window, limit + 1), limit + 1};
    for (std::size_t i = 0; i < sizes.size() && length == std::string_view::npos; ++i) {
        GPUCTR_TRY(window_, strings_at(dynamic, offset, sizes[i]), "read string table");
        rest = window_.text.substr(offset - window_.offset);
        length = rest.find('\0');
    }
    if (length == std::string_view::npos || length > limit)
        return malformed(base::format("string without an end within {} bytes", limit));
    const std::string_view text = rest.substr(0, length);
    if (std::ranges::any_of(text, base::is_control))
        return malformed("control character in a string");
    return std::string(text);
}

Result<std::string> ElfFile::bytes_at(std::uint64_t address, std::size_t limit) const
{
    GPUCTR_TRY(const Elf_Data* data, data_at(address, limit));
    return std::string(bytes_of(*data));
}

Result<void> ElfFile::fetch_sections() const
{
    const auto size = std::uint64_t{header_.e_shnum} * header_.e_shentsize;
    if (auto fetched = file_.fetch(header_.e_shoff, size); !fetched)
        return unread(std::move(fetched));
    return {};
}

Result<std::vector<GElf_Sym>> ElfFile::symbols(std::size_t most) const
{
    GPUCTR_CHECK(fetch_sections());
    std::vector<GElf_Sym> found;
    const std::size_t entry_size = gelf_fsize(elf_.get(), ELF_T_SYM, 1, EV_CURRENT);
    errno = 0;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
        GElf_Shdr header = {};
        if (gelf_getshdr(section, &header) == nullptr)
            return failed("read section headers");
        const std::uint64_t count = header.sh_size / entry_size;
        if (header.sh_type != SHT_DYNSYM || count == 0)
            continue;
        if (count > most)
            return malformed(base::format("{} symbols", count));
        GPUCTR_TRY(Elf_Data * table, data({header.sh_offset, count * entry_size}, ELF_T_SYM),
                   "read symbols");
        found.resize(count);
        for (std::size_t i = 0; i < count; ++i)
            if (gelf_getsym(table, static_cast<int>(i), &found[i]) == nullptr)
                return failed("read symbols");
        break; // a file has one; a hostile one may have many, and each takes time
    }
    return found;
}

Result<std::vector<ElfFile::Notes>> ElfFile::notes(std::size_t most, std::size_t largest) const
{
    GPUCTR_CHECK(fetch_sections());
    std::vector<Notes> found;
    errno = 0;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
        GElf_Shdr header = {};
        if (gelf_getshdr(section, &header) == nullptr)
            return failed("read section headers");
        if (header.sh_type != SHT_NOTE || header.sh_size == 0 || header.sh_size > largest)
            continue;
        if (found.size() == most)
            return malformed(base::format("more than {} sections of notes", most));
        GPUCTR_TRY(const Elf_Data* content, data({header.sh_offset, header.sh_size}, ELF_T_BYTE),
                   "read notes");
        found.push_back({std::string(bytes_of(*content)), header.sh_addralign});
    }
    return found;
}

/// Empty if the file has none, or more than any real one.
Result<std::string_view> ElfFile::section_names() const
{
    errno = 0;
    GElf_Shdr header = {};
    Elf_Scn* const section = elf_getscn(elf_.get(), header_.e_shstrndx);
    if (header_.e_shstrndx == SHN_UNDEF || section == nullptr)
        return std::string_view();
    if (gelf_getshdr(section, &header) == nullptr)
        return failed("read section headers");
    if (header.sh_size == 0 || header.sh_size > largest_section_names)
        return std::string_view();
    GPUCTR_TRY(const Elf_Data* content, data({header.sh_offset, header.sh_size}, ELF_T_BYTE),
               "read names of sections");
    return bytes_of(*content);
}

Result<std::vector<ElfFile::Range>> ElfFile::sections(std::span<const std::string_view> names,
                                                      std::size_t most) const
{
    GPUCTR_CHECK(fetch_sections());
    std::vector<Range> found;
    GPUCTR_TRY(const std::string_view all, section_names());
    errno = 0;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_.get(), section)) != nullptr;) {
        GElf_Shdr header = {};
        if (gelf_getshdr(section, &header) == nullptr)
            return failed("read section headers");
        if (header.sh_type == SHT_NOBITS || header.sh_size == 0 || header.sh_name >= all.size())
            continue;
        const std::string_view rest = all.substr(header.sh_name);
        if (std::ranges::find(names, rest.substr(0, rest.find('\0'))) == names.end())
            continue;
        if (header.sh_offset > file_size_ || header.sh_size > file_size_ - header.sh_offset)
            return malformed("file ends too early");
        if (found.size() == most)
            return malformed(base::format("more than {} sections of these names", most));
        found.push_back({header.sh_offset, header.sh_size});
    }
    return found;
}

/// Reads `size` bytes of the string table from `offset`, and some before: the next string may be
/// on either side.
Result<ElfFile::Window> ElfFile::strings_at(const Dynamic& dynamic, std::uint64_t offset,
                                            std::size_t size) const
{
    const std::uint64_t start = offset - std::min<std::uint64_t>(offset, string_window);
    const std::uint64_t wanted = std::min(dynamic.strings_size - start, offset - start + size);
    if (dynamic.strings_address > UINT64_MAX - start)
        return malformed("string table wraps around");
    GPUCTR_TRY(const Elf_Data* data, data_at(dynamic.strings_address + start, wanted));
    if (data->d_size <= offset - start)
        return malformed("file ends too early");
    return Window{start, bytes_of(*data)};
}

Result<Elf_Data*> ElfFile::data_at(std::uint64_t address, std::size_t limit, Elf_Type type) const
{
    GPUCTR_TRY(const Range found, find(address));
    return data({found.offset, std::min<std::uint64_t>(found.size, limit)}, type);
}

Result<ElfFile::Range> ElfFile::find(std::uint64_t address) const
{
    for (const GElf_Phdr& segment : loaded_) {
        if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        const std::uint64_t skipped = address - segment.p_vaddr;
        if (segment.p_offset > file_size_ || skipped >= file_size_ - segment.p_offset)
            return malformed("file ends too early");
        const std::uint64_t in_file = file_size_ - segment.p_offset - skipped;
        return Range{segment.p_offset + skipped, std::min(segment.p_filesz - skipped, in_file)};
    }
    return malformed("address outside every loaded segment");
}

Result<Elf_Data*> ElfFile::data(Range range, Elf_Type type) const
{
    if (range.offset > file_size_ || range.size > file_size_ - range.offset)
        return malformed("file ends too early");
    if (auto fetched = file_.fetch(range.offset, range.size); !fetched)
        return unread(std::move(fetched));
    errno = 0;
    Elf_Data* data =
        elf_getdata_rawchunk(elf_.get(), static_cast<std::int64_t>(range.offset), range.size, type);
    if (data == nullptr || data->d_buf == nullptr)
        return failed("read");
    return data;
}

} // namespace gpucontainer::elf
