// SPDX-License-Identifier: MIT
#include "elf/symbol_versions.hpp"

#include "elf/machine.hpp"
#include "unit/elf/elf_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>

namespace gpucontainer::elf {
namespace {

using test::ElfImage;
using test::memory_file;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Record>
void append(std::string& to, const Record& record)
{
    to.append(reinterpret_cast<const char*>(&record), sizeof record);
}

/// Puts `table` behind the strings and says where it is.
template <typename Image>
void place(Image& image, std::int64_t tag, const std::string& table)
{
    image.strings.resize((image.strings.size() + 7) / 8 * 8);
    image.add(tag, Image::load_address + Image::strings_offset + image.strings.size());
    image.strings += table;
}

std::string need(ElfImage<>& image, const std::string& library, const std::string& version,
                 std::uint16_t flags = 0, std::uint32_t next = 0)
{
    std::string table;
    Elf64_Verneed file = {VER_NEED_CURRENT, 1, image.string(library), sizeof file, next};
    Elf64_Vernaux entry = {0, flags, 2, image.string(version), 0};
    append(table, file);
    append(table, entry);
    return table;
}

std::string definition(ElfImage<>& image, const std::string& version, std::uint32_t next = 0)
{
    std::string table;
    Elf64_Verdef record = {VER_DEF_CURRENT, 0, 1, 1, 0, sizeof record, next};
    Elf64_Verdaux entry = {image.string(version), 0};
    append(table, record);
    append(table, entry);
    return table;
}

constexpr std::uint32_t need_size = sizeof(Elf64_Verneed) + sizeof(Elf64_Vernaux);
constexpr std::uint32_t definition_size = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);

std::string problem_with_needs(ElfImage<>& image)
{
    const auto file = memory_file(image.bytes());
    const auto versions = read_needed_versions(file.get());
    return versions ? "" : versions.error().message();
}

TEST(SymbolVersions, AreReadFromBothTables)
{
    ElfImage<> image;
    const std::string first = need(image, "libc.so.6", "GLIBC_2.34", 0, need_size);
    const std::string second = need(image, "libstdc++.so.6", "GLIBCXX_3.4.30");
    const std::string own =
        definition(image, "libx.so.1", definition_size) + definition(image, "X_1.0");
    place(image, DT_VERNEED, first + second);
    place(image, DT_VERDEF, own);
    const auto file = memory_file(image.bytes());

    const auto needed = read_needed_versions(file.get());
    const auto defined = read_defined_versions(file.get());

    ASSERT_TRUE(needed) << needed.error().message();
    EXPECT_THAT(*needed, ElementsAre(NeededVersion{"libc.so.6", "GLIBC_2.34"},
                                     NeededVersion{"libstdc++.so.6", "GLIBCXX_3.4.30"}));
    ASSERT_TRUE(defined) << defined.error().message();
    EXPECT_THAT(*defined, ElementsAre("libx.so.1", "X_1.0"));
}

TEST(SymbolVersions, MayBeNone)
{
    ElfImage<> image;
    const auto file = memory_file(image.bytes());

    EXPECT_THAT(*read_needed_versions(file.get()), IsEmpty());
    EXPECT_THAT(*read_defined_versions(file.get()), IsEmpty());
}

#if defined(__x86_64__) || defined(__aarch64__)
/// This machine's, in which libm uses what only the C library of its build has.
TEST(SymbolVersions, TellWhichSymbolsAreOfOne)
{
    const auto symbols = [](const char* name, const char* version) {
        const std::string path =
            "/lib/" + std::string(own_machine().multiarch) + "/" + std::string(name);
        const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        auto found = read_symbols_of_version(file.get(), version);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : Symbols();
    };
    const Symbols of_libm = symbols("libm.so.6", "GLIBC_PRIVATE");
    const Symbols of_loader = symbols(
        own_machine().loader.substr(own_machine().loader.rfind('/') + 1).data(), "GLIBC_PRIVATE");

    EXPECT_THAT(of_libm.undefined, Contains("_rtld_global_ro"));
    EXPECT_THAT(of_libm.undefined, Not(Contains("malloc")));
    EXPECT_THAT(of_loader.defined, Contains("_rtld_global_ro"));
    EXPECT_THAT(of_loader.undefined, IsEmpty());
    EXPECT_THAT(symbols("libm.so.6", "GLIBC_9.99").undefined, IsEmpty());
}
#endif

TEST(SymbolVersions, OfSymbolsAreReadWithinTheFile)
{
    ElfImage<> image;
    place(image, DT_VERNEED, need(image, "libc.so.6", "GLIBC_PRIVATE"));
    image.add(DT_VERSYM, 0x7fffffff);
    const auto file = memory_file(image.bytes());

    const auto symbols = read_symbols_of_version(file.get(), "GLIBC_PRIVATE");

    ASSERT_FALSE(symbols);
    EXPECT_THAT(symbols.error().message(), HasSubstr("outside every loaded segment"));
}

TEST(SymbolVersions, ThatAreWeakAreNotNeeded)
{
    ElfImage<> image;
    const std::string table = need(image, "libc.so.6", "GLIBC_2.99", VER_FLG_WEAK);
    place(image, DT_VERNEED, table);
    const auto file = memory_file(image.bytes());

    EXPECT_THAT(*read_needed_versions(file.get()), IsEmpty());
}

TEST(SymbolVersions, AreRefusedWhereATableLeadsNowhere)
{
    {
        ElfImage<> image;
        image.add(DT_VERNEED, 0x7fffffff);
        EXPECT_THAT(problem_with_needs(image), HasSubstr("outside every loaded segment"));
    }
    {
        ElfImage<> image;
        place(image, DT_VERNEED, need(image, "libc.so.6", "GLIBC_2.34", 0, 0x7fffffff));
        EXPECT_THAT(problem_with_needs(image), HasSubstr("damaged table"));
    }
    {
        ElfImage<> image;
        Elf64_Verneed file = {VER_NEED_CURRENT, 1, 1, 0x10000, 0};
        std::string table;
        append(table, file);
        place(image, DT_VERNEED, table);
        EXPECT_THAT(problem_with_needs(image), HasSubstr("damaged table"));
    }
    {
        ElfImage<> image;
        Elf64_Verneed file = {VER_NEED_CURRENT, 1, 0x7fffffff, sizeof file, 0};
        std::string table;
        append(table, file);
        place(image, DT_VERNEED, table);
        EXPECT_THAT(problem_with_needs(image), HasSubstr("outside the string table"));
    }
}

TEST(SymbolVersions, OfATableThatNeverEndsAreNotReadForEver)
{
    // Offsets only lead forwards, so that a table ends with what was read of the file.
    ElfImage<> image;
    image.string("libc.so.6");
    const std::string record = need(image, "libc.so.6", "GLIBC_2.34", 0, need_size);
    std::string table;
    for (int i = 0; i < 5000; ++i)
        table += record;
    place(image, DT_VERNEED, table);

    EXPECT_THAT(problem_with_needs(image), HasSubstr("damaged table"));
}

TEST(SymbolVersions, OfAnotherByteOrderAreNotRead)
{
    ElfImage<> image;
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
    const auto file = memory_file(image.bytes());

    EXPECT_FALSE(read_needed_versions(file.get()));
    EXPECT_FALSE(read_defined_versions(file.get()));
}

} // namespace
} // namespace gpucontainer::elf
