// SPDX-License-Identifier: MIT
#include "elf/symbols.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <elf.h>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t most_symbols = 200'000;
constexpr std::size_t largest_strings = 64U << 20U;

Error malformed(std::string what) { return {Errc::driver, std::move(what)}; }

} // namespace

Result<Symbols> read_symbols(int fd, std::string_view prefix)
{
    GPUCTR_TRY(const ElfFile file, ElfFile::open(fd));
    if (!file.is_native_layout())
        return malformed("is for another machine");
    GPUCTR_TRY(const Dynamic dynamic, file.dynamic());
    GPUCTR_TRY(const std::string table, file.section(SHT_DYNSYM, most_symbols * sizeof(Elf64_Sym)));
    Symbols symbols;
    if (table.empty())
        return symbols;
    GPUCTR_TRY(const std::string strings,
               file.bytes_at(dynamic.strings_address,
                             std::min<std::uint64_t>(dynamic.strings_size, largest_strings)));
    for (std::size_t at = 0; table.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol = {};
        std::memcpy(&symbol, table.data() + at, sizeof symbol);
        if (symbol.st_name >= strings.size())
            return malformed("a symbol's name is outside the string table");
        const std::string_view rest = std::string_view(strings).substr(symbol.st_name);
        if (rest.starts_with(prefix))
            (symbol.st_shndx == SHN_UNDEF ? symbols.undefined : symbols.defined)
                .emplace_back(rest.substr(0, rest.find('\0')));
    }
    std::ranges::sort(symbols.defined);
    std::ranges::sort(symbols.undefined);
    return symbols;
}

} // namespace gpucontainer::elf
