// SPDX-License-Identifier: MIT
#include "elf/symbol_versions.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace gpucontainer::elf {
namespace {

// libstdc++ has some seventy versions, the C library some fifty.
constexpr std::size_t largest_table = 64U << 10U;
constexpr std::size_t most_versions = 2048;
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
        if (dynamic_.needs_address == 0)
            return std::vector<NeededVersion>();
        GPUCTR_TRY(const std::string bytes, file_.bytes_at(dynamic_.needs_address, largest_table));
        const Table table(bytes);
        std::vector<NeededVersion> versions;
        for (std::size_t offset = 0, count = 0;; ++count) {
            const auto need = table.at<Need>(offset);
            if (!need || need->vn_version != VER_NEED_CURRENT || count > most_versions)
                return malformed("damaged table of needed versions");
            GPUCTR_TRY(const std::string library,
                       file_.string_at(dynamic_, need->vn_file, longest_name), "needed version");
            GPUCTR_CHECK(add_needed(table, offset + need->vn_aux, library, versions));
            if (need->vn_next == 0)
                return versions;
            offset += need->vn_next;
        }
    }

    Result<std::vector<std::string>> defined()
    {
        std::vector<std::string> versions;
        if (dynamic_.definitions_address == 0)
            return versions;
        GPUCTR_TRY(const std::string bytes,
                   file_.bytes_at(dynamic_.definitions_address, largest_table));
        const Table table(bytes);
        for (std::size_t offset = 0;;) {
            const auto definition = table.at<Definition>(offset);
            if (!definition || definition->vd_version != VER_DEF_CURRENT)
                return malformed("damaged table of versions");
            const auto entry = table.at<DefinitionEntry>(offset + definition->vd_aux);
            if (!entry || versions.size() > most_versions)
                return malformed("damaged table of versions");
            GPUCTR_TRY(std::string name, file_.string_at(dynamic_, entry->vda_name, longest_name),
                       "version");
            versions.push_back(std::move(name));
            if (definition->vd_next == 0)
                return versions;
            offset += definition->vd_next;
        }
    }

private:
    Reader(ElfFile file, Dynamic dynamic) : file_(std::move(file)), dynamic_(std::move(dynamic)) {}

    Result<void> add_needed(const Table& table, std::size_t offset, const std::string& library,
                            std::vector<NeededVersion>& versions)
    {
        for (;;) {
            const auto entry = table.at<NeedEntry>(offset);
            if (!entry || versions.size() > most_versions)
                return malformed("damaged table of needed versions");
            if ((entry->vna_flags & VER_FLG_WEAK) == 0) {
                GPUCTR_TRY(std::string name,
                           file_.string_at(dynamic_, entry->vna_name, longest_name),
                           "needed version");
                versions.push_back({library, std::move(name)});
            }
            if (entry->vna_next == 0)
                return {};
            offset += entry->vna_next;
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

} // namespace gpucontainer::elf
