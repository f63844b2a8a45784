// SPDX-License-Identifier: MIT
#include "elf/symbols.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t most_symbols = 200'000;
constexpr std::size_t largest_strings = 64U << 20U;

} // namespace

Result<Symbols> read_symbols(base::FileRef source, std::string_view prefix)
{
    GPUCTR_TRY(const ElfFile file, ElfFile::open(source));
    GPUCTR_TRY(const Dynamic dynamic, file.dynamic());
    GPUCTR_TRY(const auto table, file.symbols(most_symbols));
    Symbols symbols;
    if (table.empty())
        return symbols;
    GPUCTR_TRY(const std::string strings,
               file.bytes_at(dynamic.strings_address,
                             std::min<std::uint64_t>(dynamic.strings_size, largest_strings)));
    for (const GElf_Sym& symbol : table) {
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
