// SPDX-License-Identifier: MIT
#include "elf/dynamic_symbols.hpp"

#include "unit/elf/elf_image.hpp"
#include "unit/linking/elf_library.hpp"

#include <array>
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace gpucontainer::elf {
namespace {

using test::ElfImage;
using test::ElfLibrary;
using test::memory_file;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Kind = DynamicSymbol::Kind;
using Symbols = std::map<std::string, Kind>;

Symbols symbols_of(int fd)
{
    Symbols found;
    const auto visited = visit_dynamic_symbols(
        fd, [&](const DynamicSymbol& one) { found.emplace(one.name, one.kind); });
    EXPECT_TRUE(visited) << visited.error().message();
    return found;
}

std::string problem_of(const std::string& bytes)
{
    const auto visited =
        visit_dynamic_symbols(memory_file(bytes).get(), [](const DynamicSymbol&) {});
    return visited ? "" : visited.error().message();
}

TEST(DynamicSymbols, AreFoundByTheTableThatThisMachinesLinkerMakes)
{
    Dl_info info = {};
    ::dladdr(reinterpret_cast<void*>(&::getenv), &info);
    const base::UniqueFd libc(::open(info.dli_fname, O_RDONLY | O_CLOEXEC));
    EXPECT_THAT(symbols_of(libc.get()), Contains(Pair("getenv", Kind::defined)));
    const base::UniqueFd own(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    EXPECT_THAT(symbols_of(own.get()), Contains(Pair("dladdr", Kind::wanted)));
}

TEST(DynamicSymbols, AreFoundByTheOlderTable)
{
    ElfLibrary library;
    library.symbols = {{"here", true}, {"wanted"}, {"maybe", false, true}};
    const auto found = symbols_of(memory_file(library.bytes()).get());
    EXPECT_EQ(
        found,
        (Symbols{{"here", Kind::defined}, {"wanted", Kind::wanted}, {"maybe", Kind::wanted_weak}}));
}

TEST(DynamicSymbols, MayBeNone)
{
    ElfImage<> image;
    EXPECT_THAT(symbols_of(memory_file(image.bytes()).get()), IsEmpty());
}

TEST(DynamicSymbols, AreRefusedIfTheyAreTooManyOrOutsideOfTheFile)
{
    for (const std::int64_t tag : {std::int64_t{DT_HASH}, std::int64_t{DT_GNU_HASH}}) {
        ElfImage<> image;
        image.strings.resize(8);
        image.add(DT_SYMTAB, ElfImage<>::load_address);
        image.add(tag, ElfImage<>::load_address + ElfImage<>::strings_offset + 8);
        image.strings += std::string(64, '\xff');
        EXPECT_THAT(problem_of(image.bytes()), HasSubstr("dynamic symbols"));
    }
    ElfImage<> image;
    image.add(DT_SYMTAB, 0x7fffffff);
    image.add(DT_HASH, ElfImage<>::load_address); // the file's own beginning
    EXPECT_NE(problem_of(image.bytes()), "");
}

TEST(DynamicSymbols, AreRefusedIfTheChainOfTheirTableHasNoEnd)
{
    ElfImage<> image;
    image.strings.resize(8);
    image.add(DT_SYMTAB, ElfImage<>::load_address);
    image.add(DT_GNU_HASH, ElfImage<>::load_address + ElfImage<>::strings_offset + 8);
    // One bucket, which begins with the first symbol, no filter, and a chain of zeros.
    const std::array<std::uint32_t, 5> header = {1, 1, 0, 0, 1};
    image.strings.append(reinterpret_cast<const char*>(header.data()), sizeof header);
    image.strings += std::string(64, '\0');
    EXPECT_THAT(problem_of(image.bytes()), HasSubstr("outside every loaded segment"));
}

TEST(DynamicSymbols, AreReadAsFarAsABudgetGoes)
{
    ElfLibrary library;
    library.symbols = {{"here", true}};
    const std::string bytes = library.bytes();
    std::size_t budget = 1000;
    const auto visit = [&] {
        return visit_dynamic_symbols(
            memory_file(bytes).get(), [](const DynamicSymbol&) {}, budget);
    };
    EXPECT_TRUE(visit());
    EXPECT_LT(budget, 1000);
    budget = 10;
    EXPECT_FALSE(visit());
    EXPECT_EQ(budget, 10);
}

TEST(DynamicSymbols, AreRefusedIfANameIsOutsideOfTheStrings)
{
    ElfLibrary library;
    library.symbols = {{"here", true}};
    std::string bytes = library.bytes();
    const std::size_t at = bytes.find(std::string("\x12\0\xf1\xff", 4)); // info, other, section
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at - 4, 4, "\xff\xff\xff\x7f");
    EXPECT_THAT(problem_of(bytes), HasSubstr("outside the string table"));
}

} // namespace
} // namespace gpucontainer::elf
