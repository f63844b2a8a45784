// SPDX-License-Identifier: MIT
#include "elf/dynamic_symbols.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <elf.h>
#include <limits>
#include <optional>
#include <string>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t chain_window = 1024; // entries

Error too_many(std::uint64_t count) { return malformed(base::format("{} dynamic symbols", count)); }

/// The number at a position of a table, which the caller has checked.
std::uint32_t word_at(std::string_view table, std::size_t index)
{
    std::uint32_t word = 0;
    std::memcpy(&word, table.data() + index * sizeof word, sizeof word);
    return word;
}

Result<std::string> words_at(const ElfFile& file, std::uint64_t address, std::size_t count)
{
    const std::size_t size = count * sizeof(std::uint32_t);
    GPUCTR_TRY(std::string table, file.bytes_at(address, size));
    if (table.size() < size)
        return malformed("hash table ends too early");
    return table;
}

/// The last chain ends with the last symbol that has a hash; those that are wanted come before.
Result<std::uint64_t> count_by_chain(const ElfFile& file, std::uint64_t chains, std::uint64_t first,
                                     std::uint64_t last)
{
    for (std::uint64_t at = last; at <= most_dynamic_symbols;) {
        const std::uint64_t address = chains + (at - first) * sizeof(std::uint32_t);
        GPUCTR_TRY(const std::string window,
                   file.bytes_at(address, chain_window * sizeof(std::uint32_t)));
        const std::size_t entries = window.size() / sizeof(std::uint32_t);
        if (entries == 0)
            return malformed("hash table ends too early");
        for (std::size_t i = 0; i < entries; ++i, ++at)
            if ((word_at(window, i) & 1U) != 0)
                return at + 1;
    }
    return too_many(last);
}

Result<std::uint64_t> count_by_gnu_hash(const ElfFile& file, std::uint64_t address)
{
    constexpr std::size_t header_words = 4;
    GPUCTR_TRY(const std::string header, words_at(file, address, header_words));
    const std::uint64_t buckets = word_at(header, 0);
    const std::uint64_t first = word_at(header, 1);
    const std::uint64_t filter = word_at(header, 2);
    if (buckets > most_dynamic_symbols || first > most_dynamic_symbols
        || filter > most_dynamic_symbols)
        return too_many(std::max({buckets, first, filter}));
    const std::size_t filter_word = file.header().e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
    const std::uint64_t buckets_at = address + header_words * 4 + filter * filter_word;
    if (buckets_at < address)
        return malformed("hash table out of place");
    std::uint64_t last = 0;
    if (buckets != 0) {
        GPUCTR_TRY(const std::string table, words_at(file, buckets_at, buckets));
        for (std::size_t i = 0; i < buckets; ++i)
            last = std::max<std::uint64_t>(last, word_at(table, i));
    }
    if (last < first)
        return first;
    if (last > most_dynamic_symbols)
        return too_many(last);
    return count_by_chain(file, buckets_at + buckets * 4, first, last);
}

/// How many symbols the file has; 0 if it does not tell.
Result<std::uint64_t> count_symbols(const ElfFile& file, const Dynamic& dynamic)
{
    // These two have words of 64 bits in the table.
    const bool is_wide =
        file.header().e_machine == EM_ALPHA
        || (file.header().e_machine == EM_S390 && file.header().e_ident[EI_CLASS] == ELFCLASS64);
    if (dynamic.hash_address != 0 && !is_wide) {
        GPUCTR_TRY(const std::string header, words_at(file, dynamic.hash_address, 2));
        return std::uint64_t{word_at(header, 1)};
    }
    if (dynamic.gnu_hash_address != 0)
        return count_by_gnu_hash(file, dynamic.gnu_hash_address);
    return std::uint64_t{0};
}

/// None for local ones.
template <typename Symbol>
std::optional<DynamicSymbol::Kind> kind_of(const Symbol& symbol)
{
    const unsigned binding = ELF64_ST_BIND(symbol.st_info); // the same for both word sizes
    if (binding == STB_LOCAL)
        return std::nullopt;
    if (symbol.st_shndx != SHN_UNDEF)
        return DynamicSymbol::Kind::defined;
    return binding == STB_WEAK ? DynamicSymbol::Kind::wanted_weak : DynamicSymbol::Kind::wanted;
}

template <typename Symbol>
Result<void> visit_table(std::string_view table, std::string_view strings,
                         const std::function<void(const DynamicSymbol&)>& visit)
{
    // Names may overlap: the end of one can be another. Those of hostile files could all be long.
    std::size_t left = 2 * largest_dynamic_names;
    for (std::size_t at = sizeof(Symbol); at + sizeof(Symbol) <= table.size();
         at += sizeof(Symbol)) { // the first is none
        Symbol symbol = {};
        std::memcpy(&symbol, table.data() + at, sizeof symbol);
        const auto kind = kind_of(symbol);
        if (!kind || symbol.st_name == 0)
            continue;
        if (symbol.st_name >= strings.size())
            return malformed("a symbol's name is outside the string table");
        const std::string_view rest = strings.substr(symbol.st_name, left);
        const std::size_t length = rest.find('\0');
        if (length == std::string_view::npos)
            return malformed("a symbol's name has no end");
        left -= length;
        visit({rest.substr(0, length), *kind});
    }
    return {};
}

} // namespace

Result<void> visit_dynamic_symbols(base::FileRef of,
                                   const std::function<void(const DynamicSymbol&)>& visit)
{
    std::size_t any = std::numeric_limits<std::size_t>::max();
    return visit_dynamic_symbols(of, visit, any);
}

Result<void> visit_dynamic_symbols(base::FileRef of,
                                   const std::function<void(const DynamicSymbol&)>& visit,
                                   std::size_t& budget)
{
    GPUCTR_TRY(const ElfFile file, ElfFile::open(of));
    constexpr unsigned char own_order =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (file.header().e_ident[EI_DATA] != own_order)
        return malformed("is of another byte order");
    GPUCTR_TRY(const Dynamic dynamic, file.dynamic());
    if (dynamic.symbols_address == 0)
        return {};
    GPUCTR_TRY(const std::uint64_t count, count_symbols(file, dynamic), "symbols");
    if (count == 0)
        return {};
    if (count > most_dynamic_symbols || dynamic.strings_size > largest_dynamic_names)
        return too_many(count);
    const bool is_64_bit = file.header().e_ident[EI_CLASS] == ELFCLASS64;
    const std::size_t size = is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    const std::size_t tables = count * size + dynamic.strings_size;
    if (tables > budget)
        return too_many(count);
    budget -= tables;
    GPUCTR_TRY(const std::string table, file.bytes_at(dynamic.symbols_address, count * size),
               "symbols");
    if (table.size() < count * size)
        return malformed("symbols end too early");
    GPUCTR_TRY(const std::string strings,
               file.bytes_at(dynamic.strings_address, dynamic.strings_size), "names of symbols");
    return is_64_bit ? visit_table<Elf64_Sym>(table, strings, visit)
                     : visit_table<Elf32_Sym>(table, strings, visit);
}

} // namespace gpucontainer::elf
