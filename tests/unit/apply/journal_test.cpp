// SPDX-License-Identifier: MIT
#include "apply/journal.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::apply {
namespace {

using namespace std::string_literals;

Journal with_text(const std::string& text)
{
    Journal journal;
    journal.root_path = "/" + text;
    journal.tree_path = "/" + text;
    journal.identity = text;
    ProgramBuilder builder;
    builder.add(Step::make_link, "/usr/" + text, text);
    journal.program = std::move(builder).build();
    return journal;
}

std::string written(const Journal& journal)
{
    return to_text(journal, Program(journal.program.get()));
}

TEST(Journal, KeepsEachByteOfItsTexts)
{
    for (const std::string& text : {"plain"s, "\x01\x02\n\r\t\x1b\x7f"s, "quote\" back\\slash 'x'"s,
                                    "\u00fc\u2028\U0010ffff"s, "\xff\xfe"s, "half \xc3"s, "\x9b"s,
                                    "over\xc0\xaf"s, "\xed\xa0\x80"s, ""s}) {
        const Journal journal = with_text(text);
        const auto read = from_text("name", written(journal));
        ASSERT_TRUE(read) << read.error().message();
        EXPECT_EQ(read->root_path, journal.root_path);
        EXPECT_EQ(read->tree_path, journal.tree_path);
        EXPECT_EQ(read->identity, journal.identity);
        const Program program(read->program.get());
        const Operation& operation = program.operations().front();
        EXPECT_EQ(program.text(operation.path), "/usr/" + text);
        EXPECT_EQ(std::string(program.text(operation.data), operation.data_size), text);
    }
}

TEST(Journal, IsDamagedWhereBytesAreNone)
{
    std::string text = written(with_text("\xff"));
    for (const char* const wrong : {"f", "fff", "xx", "-1"}) {
        std::string damaged = text;
        const auto at = damaged.find("\"bytes\":\"ff\"");
        ASSERT_NE(at, std::string::npos);
        damaged.replace(at, 12, "\"bytes\":\""s + wrong + "\"");
        EXPECT_FALSE(from_text("name", damaged)) << wrong;
    }
}

} // namespace
} // namespace gpucontainer::apply
