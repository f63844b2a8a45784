// SPDX-License-Identifier: MIT
#include "elf/sections.hpp"

#include "unit/drivers/gpu_code_image.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <string>

namespace gpucontainer::elf {
namespace {

constexpr std::array<std::string_view, 2> names = {".wanted", ".also"};
constexpr const char* content = "content of it";

/// The library with a number of its section's header changed.
std::string changed(std::size_t field, std::uint64_t value)
{
    std::string file = test::library_with(".wanted", content);
    Elf64_Ehdr header = {};
    std::memcpy(&header, file.data(), sizeof header);
    test::put(file, header.e_shoff + sizeof(Elf64_Shdr) + field, value);
    return file;
}

TEST(Sections, AreFoundByTheirNames)
{
    const std::string file = test::library_with(".wanted", content);
    const auto found = find_sections(test::memory_file(file).get(), names);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(file.substr(found->front().offset, found->front().size), content);
    for (const char* other : {".wante", ".wanted2", "", "also"}) {
        const auto none =
            find_sections(test::memory_file(test::library_with(other, content)).get(), names);
        ASSERT_TRUE(none);
        EXPECT_TRUE(none->empty()) << other;
    }
}

TEST(Sections, LieWithinTheFile)
{
    for (const std::uint64_t value : {~std::uint64_t(0), std::uint64_t(1) << 40U}) {
        EXPECT_FALSE(find_sections(
            test::memory_file(changed(offsetof(Elf64_Shdr, sh_offset), value)).get(), names));
        EXPECT_FALSE(find_sections(
            test::memory_file(changed(offsetof(Elf64_Shdr, sh_size), value)).get(), names));
    }
}

TEST(Sections, WithoutNamesAreNone)
{
    std::string file = test::library_with(".wanted", content);
    test::put<std::uint16_t>(file, offsetof(Elf64_Ehdr, e_shstrndx), 0);
    const auto none = find_sections(test::memory_file(file).get(), names);
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
    test::put<std::uint16_t>(file, offsetof(Elf64_Ehdr, e_shstrndx), 77);
    (void)find_sections(test::memory_file(file).get(), names);
    test::ElfImage<> image;
    const auto without = find_sections(test::memory_file(image.bytes()).get(), names);
    ASSERT_TRUE(without) << without.error().message();
    EXPECT_TRUE(without->empty());
    EXPECT_FALSE(find_sections(test::memory_file("no ELF file").get(), names));
}

} // namespace
} // namespace gpucontainer::elf
