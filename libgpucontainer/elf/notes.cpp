// SPDX-License-Identifier: MIT
#include "elf/notes.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t most_note_sections = 64;
constexpr std::size_t largest_note_section = 64U << 10U;
constexpr std::size_t most_notes = 64;
constexpr std::uint64_t largest_alignment = 8;

constexpr unsigned char native_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

/// Notes of one section, in turn.
class NoteReader {
public:
    NoteReader(std::string_view bytes, std::uint64_t alignment)
        : rest_(bytes), alignment_(alignment)
    {
    }

    struct Note {
        std::string_view owner;
        std::string_view text;
    };

    /// None at the end, or if the next one is damaged.
    std::optional<Note> next()
    {
        Elf32_Nhdr header = {}; // the same in files of 64 bits
        if (rest_.size() < sizeof header)
            return {};
        std::memcpy(&header, rest_.data(), sizeof header);
        rest_.remove_prefix(sizeof header);
        const auto owner = take(header.n_namesz);
        const auto text = owner ? take(header.n_descsz) : std::nullopt;
        if (!text)
            return {};
        return Note{*owner, *text};
    }

private:
    /// What has `size` bytes; without NULs at its end. What follows is aligned.
    std::optional<std::string_view> take(std::uint64_t size)
    {
        if (size > rest_.size())
            return {};
        std::string_view taken = rest_.substr(0, size);
        const std::uint64_t padded = (size + alignment_ - 1) / alignment_ * alignment_;
        rest_.remove_prefix(std::min<std::uint64_t>(padded, rest_.size()));
        while (taken.ends_with('\0'))
            taken.remove_suffix(1);
        return taken;
    }

    std::string_view rest_;
    std::uint64_t alignment_;
};

} // namespace

Result<std::vector<std::string>> read_notes(base::FileRef source, std::string_view owner)
{
    GPUCTR_TRY(const ElfFile file, ElfFile::open(source));
    if (file.header().e_ident[EI_DATA] != native_order)
        return malformed("of another byte order");
    GPUCTR_TRY(const auto sections, file.notes(most_note_sections, largest_note_section));
    std::vector<std::string> texts;
    for (const ElfFile::Notes& section : sections) {
        if (section.alignment > largest_alignment || !std::has_single_bit(section.alignment))
            continue;
        NoteReader reader(section.bytes, section.alignment);
        while (const auto note = reader.next()) {
            if (note->owner != owner)
                continue;
            if (texts.size() == most_notes)
                return malformed("too many notes");
            texts.emplace_back(note->text);
        }
    }
    return texts;
}

} // namespace gpucontainer::elf
