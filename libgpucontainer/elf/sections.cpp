// SPDX-License-Identifier: MIT
#include "elf/sections.hpp"

#include "base/try.hpp"
#include "elf/elf_file.hpp"

#include <cstddef>

namespace gpucontainer::elf {
namespace {

constexpr std::size_t most_sections = 16;

} // namespace

Result<std::vector<Section>> find_sections(base::FileRef file,
                                           std::span<const std::string_view> names)
{
    GPUCTR_TRY(const ElfFile opened, ElfFile::open(file));
    GPUCTR_TRY(const auto found, opened.sections(names, most_sections));
    std::vector<Section> sections;
    sections.reserve(found.size());
    for (const ElfFile::Range& range : found)
        sections.push_back({range.offset, range.size});
    return sections;
}

} // namespace gpucontainer::elf
