// SPDX-License-Identifier: MIT
#include "elf/notes.hpp"

#include "unit/elf/noted_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::elf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> notes_of(const std::string& bytes)
{
    const auto file = test::memory_file(bytes);
    auto notes = read_notes(file.get(), "Owner");
    return notes ? *std::move(notes)
                 : std::vector<std::string>{"error: " + notes.error().message()};
}

TEST(Notes, AreThoseOfTheirOwner)
{
    const std::string notes = test::note("GNU", "no") + test::note("Owner", "first")
                              + test::note("Owners", "no") + test::note("Owner", "{\"a\": 1}");
    EXPECT_THAT(notes_of(test::noted_library("libx.so", notes)),
                ElementsAre("first", "{\"a\": 1}"));
    EXPECT_THAT(notes_of(test::noted_library("libx.so", "")), IsEmpty());
}

TEST(Notes, EndWhereOneIsDamaged)
{
    std::string long_text = test::note("Owner", "second");
    long_text[4] = '\x7f'; // more bytes than there are
    EXPECT_THAT(notes_of(test::noted_library("libx.so", test::note("Owner", "first") + long_text
                                                            + test::note("Owner", "third"))),
                ElementsAre("first"));
    std::string long_owner = test::note("Owner", "text");
    long_owner.replace(0, 4, "\xff\xff\xff\xff");
    EXPECT_THAT(notes_of(test::noted_library("libx.so", long_owner)), IsEmpty());
    EXPECT_THAT(notes_of(test::noted_library("libx.so", "short")), IsEmpty());
}

TEST(Notes, OfASectionWithAnOddAlignmentAreNotRead)
{
    for (const std::uint64_t alignment : {0UL, 3UL, 16UL, 1UL << 62U})
        EXPECT_THAT(
            notes_of(test::noted_library("libx.so", test::note("Owner", "text"), alignment)),
            IsEmpty())
            << alignment;
}

TEST(Notes, AreBounded)
{
    std::string many;
    for (int i = 0; i < 65; ++i)
        many += test::note("Owner", "text");
    EXPECT_THAT(notes_of(test::noted_library("libx.so", many)),
                ElementsAre("error: too many notes"));
    EXPECT_THAT(
        notes_of(test::noted_library("libx.so", test::note("Owner", std::string(1U << 17U, 'x')))),
        IsEmpty());
}

TEST(Notes, BehindTheEndOfTheFileAreAnError)
{
    std::string bytes = test::noted_library("libx.so", test::note("Owner", "text"));
    Elf64_Shdr section = {};
    std::memcpy(&section, bytes.data() + bytes.size() - sizeof section, sizeof section);
    section.sh_offset = 1U << 30U;
    std::memcpy(bytes.data() + bytes.size() - sizeof section, &section, sizeof section);
    EXPECT_THAT(notes_of(bytes), ElementsAre("error: read notes: file ends too early"));
}

} // namespace
} // namespace gpucontainer::elf
