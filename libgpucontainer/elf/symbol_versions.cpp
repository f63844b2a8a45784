// SPDX-License-Identifier: MIT
#include "elf/symbol_versions.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace gpucontainer::elf {
namespace {

// libstdc++ has some seventy versions, the C library some fifty.
constexpr std::size_t largest_table = 64U << 10U;
constexpr std::size_t most_versions = 2048;
constexpr std::size_t most_versioned_symbols = 200'000;
constexpr std::size_t longest_name = 256;

// The same for both word sizes.
using Need = Elf64_Verneed;
using NeedEntry = Elf64_Vernaux;
using Definition = Elf64_Verdef;
using DefinitionEntry = Elf64_Verdaux;

/// Records of a table that point to each other by offsets, which are not trusted.
class Table {
public:
    explicit Table(std::string_view bytes) : bytes_(bytes) {}

    template <typename Record>
    std::optional<Record> at(std::size_t offset) const
    {
        Record record = {};
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof record)
            return std::nullopt;
        std::memcpy(&record, bytes_.data() + offset, sizeof record);
        return record;
    }

private:
    std::string_view bytes_;
};

/// Reads the version tables of a file.
class Reader {
public:
    static Result<Reader> open(base::FileRef source)
    {
        GPUCTR_TRY(ElfFile file, ElfFile::open(source));
        constexpr unsigned char own_order =
            std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
        if (file.header().e_ident[EI_DATA] != own_order)
            return malformed("is of another byte order");
        GPUCTR_TRY(Dynamic dynamic, file.dynamic());
        return Reader(std::move(file), std::move(dynamic));
    }

    Result<std::vector<NeededVersion>> needed()
    {
        std::vector<NeededVersion> versions;
        GPUCTR_CHECK(walk_needs([&](const std::string& library,
                                    const NeedEntry& entry) -> Result<void> {
            if ((entry.vna_flags & VER_FLG_WEAK) != 0)
                return {};
            GPUCTR_TRY(std::string name, file_.string_at(dynamic_, entry.vna_name, longest_name),
                       "needed version");
            versions.push_back({library, std::move(name)});
            return {};
        }));
        return versions;
    }

    Result<std::vector<std::string>> defined()
    {
        std::vector<std::string> versions;
        GPUCTR_CHECK(walk_definitions(
            [&](const Definition&, std::string name) { versions.push_back(std::move(name)); }));
        return versions;
    }

    /// Symbols of the version.
    Result<Symbols> symbols_of(std::string_view version)
    {
        Symbols symbols;
        GPUCTR_TRY(const std::set<std::uint16_t> indexes, indexes_of(version));
        if (indexes.empty() || dynamic_.indexes_address == 0)
            return symbols;
        GPUCTR_TRY(const auto table, file_.symbols(most_versioned_symbols));
        GPUCTR_TRY(const std::string bytes,
                   file_.bytes_at(dynamic_.indexes_address, table.size() * sizeof(std::uint16_t)));
        const Table numbers(bytes);
        for (std::size_t i = 0; i < table.size(); ++i) {
            constexpr std::uint16_t number_part = 0x7fff; // the rest: it is not the default one
            const auto number = numbers.at<std::uint16_t>(i * sizeof(std::uint16_t));
            if (!number)
                return malformed("symbols have no version");
            if (!indexes.contains(*number & number_part))
                continue;
            GPUCTR_TRY(std::string name, file_.string_at(dynamic_, table[i].st_name, longest_name),
                       "symbol");
            (table[i].st_shndx == SHN_UNDEF ? symbols.undefined : symbols.defined)
                .push_back(std::move(name));
        }
        std::ranges::sort(symbols.defined);
        std::ranges::sort(symbols.undefined);
        return symbols;
    }

private:
    Reader(ElfFile file, Dynamic dynamic) : file_(std::move(file)), dynamic_(std::move(dynamic)) {}

    /// By which numbers symbols refer to the version.
    Result<std::set<std::uint16_t>> indexes_of(std::string_view version)
    {
        std::set<std::uint16_t> indexes;
        GPUCTR_CHECK(walk_needs([&](const std::string&, const NeedEntry& entry) -> Result<void> {
            GPUCTR_TRY(const std::string name,
                       file_.string_at(dynamic_, entry.vna_name, longest_name), "needed version");
            if (name == version)
                indexes.insert(entry.vna_other);
            return {};
        }));
        GPUCTR_CHECK(walk_definitions([&](const Definition& definition, const std::string& name) {
            if (name == version)
                indexes.insert(definition.vd_ndx);
        }));
        return indexes;
    }

    /// Calls `visit` with each entry and the library that it is about.
    template <typename Visit>
    Result<void> walk_needs(Visit visit)
    {
        if (dynamic_.needs_address == 0)
            return {};
        GPUCTR_TRY(const std::string bytes, file_.bytes_at(dynamic_.needs_address, largest_table));
        const Table table(bytes);
        std::size_t entries = 0;
        for (std::size_t offset = 0, count = 0;; ++count) {
            const auto need = table.at<Need>(offset);
            if (!need || need->vn_version != VER_NEED_CURRENT || count > most_versions)
                return malformed("damaged table of needed versions");
            GPUCTR_TRY(const std::string library,
                       file_.string_at(dynamic_, need->vn_file, longest_name), "needed version");
            for (std::size_t at = offset + need->vn_aux;;) {
                const auto entry = table.at<NeedEntry>(at);
                if (!entry || ++entries > most_versions)
                    return malformed("damaged table of needed versions");
                GPUCTR_CHECK(visit(library, *entry));
                if (entry->vna_next == 0)
                    break;
                at += entry->vna_next;
            }
            if (need->vn_next == 0)
                return {};
            offset += need->vn_next;
        }
    }

    /// Calls `visit` with each definition and its name.
    template <typename Visit>
    Result<void> walk_definitions(Visit visit)
    {
        if (dynamic_.definitions_address == 0)
            return {};
        GPUCTR_TRY(const std::string bytes,
                   file_.bytes_at(dynamic_.definitions_address, largest_table));
        const Table table(bytes);
        for (std::size_t offset = 0, count = 0;; ++count) {
            const auto definition = table.at<Definition>(offset);
            if (!definition || definition->vd_version != VER_DEF_CURRENT)
                return malformed("damaged table of versions");
            const auto entry = table.at<DefinitionEntry>(offset + definition->vd_aux);
            if (!entry || count > most_versions)
                return malformed("damaged table of versions");
            GPUCTR_TRY(std::string name, file_.string_at(dynamic_, entry->vda_name, longest_name),
                       "version");
            visit(*definition, std::move(name));
            if (definition->vd_next == 0)
                return {};
            offset += definition->vd_next;
        }
    }

    ElfFile file_;
    Dynamic dynamic_;
};

} // namespace

Result<std::vector<NeededVersion>> read_needed_versions(base::FileRef source)
{
    GPUCTR_TRY(Reader reader, Reader::open(source));
    return reader.needed();
}

Result<std::vector<std::string>> read_defined_versions(base::FileRef source)
{
    GPUCTR_TRY(Reader reader, Reader::open(source));
    return reader.defined();
}

Result<Symbols> read_symbols_of_version(base::FileRef source, std::string_view version)
{
    GPUCTR_TRY(Reader reader, Reader::open(source));
    return reader.symbols_of(version);
}

} // namespace gpucontainer::elf
