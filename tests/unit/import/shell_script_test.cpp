// SPDX-License-Identifier: MIT
#include "import/shell_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ShellScriptTest : public ::testing::Test {
protected:
    Variables read(std::string_view text)
    {
        Variables variables = before_;
        skipped_ = read_script(text, variables);
        return variables;
    }

    Variables before_;
    std::string skipped_;
};

TEST_F(ShellScriptTest, ObeysExports)
{
    EXPECT_THAT(read("#!/bin/sh\n\nexport A=1\nexport B=\"x y\"   # why\nexport C='$d' E=f\n"),
                ElementsAre(Pair("A", "1"), Pair("B", "x y"), Pair("C", "$d"), Pair("E", "f")));
    EXPECT_EQ(skipped_, "");
    EXPECT_THAT(read("\texport A=a\\ b\\\nc; export B=\n"),
                ElementsAre(Pair("A", "a bc"), Pair("B", "")));
    EXPECT_EQ(skipped_, "");
    EXPECT_THAT(read("export A=\"a\\\"b\\$c\\d\nsecond\"'q'"),
                ElementsAre(Pair("A", "a\"b$c\\d\nsecondq")));
}

/// What Apptainer writes for each variable of an OCI image.
TEST_F(ShellScriptTest, TakesTheDefaultOfAVariableThatNobodySet)
{
    const std::string text =
        "export V=\"${V:-\"all\"}\"\n"
        "export R=\"${R:-\"cuda>=12.4 brand=tesla,driver>=470,driver<471\"}\"\n"
        "export E=\"${E:-}\"\nexport D=${D-x}\n";
    EXPECT_THAT(read(text), ElementsAre(Pair("D", "x"), Pair("E", ""),
                                        Pair("R", "cuda>=12.4 brand=tesla,driver>=470,driver<471"),
                                        Pair("V", "all")));
    EXPECT_EQ(skipped_, "");

    before_ = {{"V", "0"}, {"E", ""}};
    const Variables set = read(text);
    EXPECT_EQ(set.at("V"), "0");
    EXPECT_EQ(set.at("E"), "");
}

TEST_F(ShellScriptTest, KnowsVariablesThatItRead)
{
    EXPECT_THAT(read("A=1\nexport B=\"$A-${A}\"\nexport A\nA=2\nunset B\n"),
                ElementsAre(Pair("A", "2")));
    EXPECT_EQ(skipped_, "");
    EXPECT_THAT(read("A=1 B=2\n"), IsEmpty()) << "not exported";
}

TEST_F(ShellScriptTest, KnowsNoVariableOfTheHost)
{
    EXPECT_THAT(read("export A=\"$HOME\"\nexport B=${GPUS:-all}\nexport C=~/x\nexport D=ok\n"),
                ElementsAre(Pair("D", "ok")));
    EXPECT_EQ(skipped_, "1-3");
}

TEST_F(ShellScriptTest, ExecutesNothing)
{
    before_ = {{"A", "old"}, {"B", "old"}, {"C", "old"}};
    EXPECT_THAT(read("export A=$(echo 1)\nexport B=`echo 2`\nexport D=\"x$(echo \"y\")\"\n"
                     "export E=${F#x} G=$((1+1)) H=$?\n. /other\neval I=1\n"),
                ElementsAre(Pair("C", "old")))
        << "an old value is no longer known";
    EXPECT_EQ(skipped_, "1-6");
}

TEST_F(ShellScriptTest, KnowsNothingThatDepends)
{
    for (const char* text :
         {"if true; then\n  export A=1\nfi\n", "if x; then export A=1; else export A=2; fi\n",
          "case $X in\n  a) export A=1 ;;\nesac\n", "for i in 1 2; do export A=$i; done\n",
          "while read A; do :; done\n", "f() {\n export A=1\n}\n", "function f { export A=1; }\n",
          "{ export A=1; }\n", "( export A=1 )\n", "true && export A=1\n", "x ||\n export A=1\n",
          "x | export A=1\n", "export A=1 | x\n", "export A=1 &\n", "read A\n", "A+=1\n",
          "declare A=1\n", "export -n A\n", "export A+=1\n"}) {
        before_ = {{"A", "old"}};
        EXPECT_THAT(read(text), IsEmpty()) << text;
        EXPECT_NE(skipped_, "") << text;
        before_ = {};
        EXPECT_THAT(read(std::string(text) + "\nexport Z=1\n"), ElementsAre(Pair("Z", "1")))
            << text;
    }
}

TEST_F(ShellScriptTest, EndsWhereItDoesNotKnowWhatATextIs)
{
    for (const char* text :
         {"cat <<E\nexport A=1\nE\n", "export A='1\n", "export A=\"1\n", "export A=`1\n",
          "export A=${B\n", "export A=$(1\n", "exit 0\nexport A=1\n", "return\nexport A=1\n",
          "exec sh\nexport A=1\n"}) {
        EXPECT_THAT(read(std::string("export Z=1\n") + text), ElementsAre(Pair("Z", "1"))) << text;
        EXPECT_EQ(skipped_, "2 and what follows") << text;
    }
    EXPECT_THAT(read("x '\nexport A=1\n'\nexport Z=1\n"), ElementsAre(Pair("Z", "1")));
}

/// What is quoted or in parentheses ends where a shell ends it, so that what follows counts.
TEST_F(ShellScriptTest, KnowsWhereQuotesAndCommandsEnd)
{
    for (const char* const command :
         {"export A=$'x'", "export A=$'a\\nb'", "A=$(echo ')')", "A=$(echo \")\" '\"')",
          "A=\"$(dirname \"$(readlink -f \"$0\")\")\"", "A=$(echo `echo ')'`)", "A=$((1 + (2)))",
          "A=$(echo \"\\\")\")"}) {
        EXPECT_THAT(read(std::string(command) + "\nexport V=none\nexport B='y'\n"),
                    ElementsAre(Pair("B", "y"), Pair("V", "none")))
            << command;
        EXPECT_EQ(skipped_, "1") << command;
    }
}

TEST_F(ShellScriptTest, StopsWhereShellsDifferOrCountParentheses)
{
    for (const char* const command :
         {"export A=$'it\\'s'", "A=$(case x in y)\n", "A=$(echo 'x)", "A=$(echo \"$(x)"}) {
        EXPECT_THAT(read(std::string("export V=1\n") + command + "\nexport V=2\n"),
                    ElementsAre(Pair("V", "1")))
            << command;
        EXPECT_EQ(skipped_, "2 and what follows") << command;
    }
    constexpr std::size_t deep = 1000;
    EXPECT_THAT(read("A=$" + std::string(deep, '(') + std::string(deep, ')') + "\nexport V=2\n"),
                IsEmpty());
}

/// A shell of its own, whose variables nobody else sees.
TEST_F(ShellScriptTest, KnowsNothingThatASubshellSets)
{
    EXPECT_THAT(read("(\nexport V=all\nexport W=1\n)\nexport X=1\n"), ElementsAre(Pair("X", "1")));
    EXPECT_EQ(skipped_, "2-3");
    EXPECT_THAT(read("A=(one\nB=2\n)\ncase x in\n a) B=3;;\nesac\nexport X=1\n"),
                ElementsAre(Pair("X", "1")));
}

TEST_F(ShellScriptTest, GrowsNoFurtherThanAnEnvironment)
{
    std::string text = "export A=xxxxxxxx\n";
    for (int i = 0; i < 64; ++i)
        text += "export A=\"$A$A\"\n";
    const Variables variables = read(text);
    EXPECT_THAT(variables, IsEmpty());

    text = "export A=" + std::string(longest_value - 16, 'x') + "\n";
    for (int i = 0; i < 1000; ++i)
        text += "export B" + std::to_string(i) + "=$A\n";
    EXPECT_LT(read(text).size(), 400U);
    EXPECT_THAT(skipped_, ::testing::HasSubstr("and what follows"));

    text = "export A=";
    for (int i = 0; i < 100000; ++i)
        text += "${A:-";
    EXPECT_THAT(read(text), IsEmpty());
}

/// Of texts like these, each byte once took the time of the longest name or value.
TEST_F(ShellScriptTest, TakesTheTimeOfItsLength)
{
    constexpr std::size_t size = 1U << 20U;
    const std::string name(longest_value, 'n');
    EXPECT_THAT(read(name.substr(1) + "-" + std::string(size, '=')), IsEmpty());

    std::string text = name + "=";
    while (text.size() < size)
        text += "$a";
    EXPECT_THAT(read("export " + text), IsEmpty());

    before_ = {{"A", name}};
    text = "export B=";
    while (text.size() < size)
        text += "${A!}";
    EXPECT_EQ(read(text), before_);
}

TEST_F(ShellScriptTest, NamesTheLinesThatItSkips)
{
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += "x\n:\n";
    EXPECT_THAT(read(text), IsEmpty());
    EXPECT_EQ(skipped_, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 and what "
                        "follows");
}

TEST(LinesTest, AreNamesAndValues)
{
    Variables variables = {{"B", "old"}, {"C", "old"}};
    EXPECT_EQ(
        read_lines("# a comment\nA=1=2\r\n\nB='x y'\nC=$HOME\nD=\"q\"\nnone\n0=1\nE=", variables),
        "5, 7-8");
    EXPECT_THAT(variables,
                ElementsAre(Pair("A", "1=2"), Pair("B", "x y"), Pair("D", "\"q\""), Pair("E", "")));
}

} // namespace
} // namespace gpucontainer::imports
