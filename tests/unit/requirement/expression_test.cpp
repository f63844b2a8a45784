// SPDX-License-Identifier: MIT
#include "requirement/expression.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace gpucontainer::requirement {
namespace {

constexpr std::array names = {Name{"cuda"}, Name{"driver"}, Name{"arch"},
                              Name{"brand", Kind::word}};

Clause version(std::string name, Relation relation, std::string value)
{
    return {std::move(name), Kind::version, relation, std::move(value)};
}

Clause word(Relation relation, std::string value)
{
    return {"brand", Kind::word, relation, std::move(value)};
}

Expression read(std::string_view text)
{
    auto expression = parse(text, names);
    EXPECT_TRUE(expression) << expression.error().message();
    return expression ? *std::move(expression) : Expression();
}

/// "MESSAGE | HINT"
std::string refusal(std::string_view text)
{
    const auto expression = parse(text, names);
    if (expression)
        return "accepted";
    EXPECT_EQ(expression.error().code(), Errc::usage);
    return expression.error().message() + " | " + expression.error().hint();
}

TEST(ExpressionTest, BlanksSeparateAlternativesAndCommasJoinClauses)
{
    const Expression expected = {
        {{version("cuda", Relation::at_least, "12.4")},
         {word(Relation::equal, "tesla"), version("driver", Relation::at_least, "470"),
          version("driver", Relation::less, "471")}}};

    EXPECT_EQ(read("cuda>=12.4 brand=tesla,driver>=470,driver<471"), expected);
    EXPECT_EQ(read(" cuda>=12.4\t\r\n  brand=tesla,driver>=470,driver<471\n"), expected);
}

TEST(ExpressionTest, KnowsSixRelations)
{
    const Expression expected = {
        {{version("arch", Relation::equal, "9.0"), version("arch", Relation::not_equal, "9.0"),
          version("arch", Relation::less, "9.0"), version("arch", Relation::at_most, "9.0"),
          version("arch", Relation::greater, "9.0"), version("arch", Relation::at_least, "9.0")}}};

    EXPECT_EQ(read("arch=9.0,arch!=9.0,arch<9.0,arch<=9.0,arch>9.0,arch>=9.0"), expected);
}

TEST(ExpressionTest, WithoutAlternativesRequiresNothing)
{
    EXPECT_TRUE(read("").alternatives.empty());
    EXPECT_TRUE(read("  \n\t ").alternatives.empty());
}

TEST(ExpressionTest, AClauseIsWrittenAsItWasRead)
{
    for (const char* const text : {"cuda>=12.4", "brand!=GeForce", "driver<471", "arch=7.5"})
        EXPECT_EQ(read(text).alternatives.front().front().text(), text);
}

TEST(ExpressionTest, RefusesUnknownNames)
{
    EXPECT_EQ(refusal("cuda>=12.4 archs>=9.0"),
              "requirement archs>=9.0: unknown name archs | did you mean arch? known names are "
              "cuda, driver, arch, brand");
    EXPECT_EQ(refusal("CUDA>=12.4").substr(0, 38), "requirement CUDA>=12.4: unknown name C");
}

TEST(ExpressionTest, RefusesMalformedClausesAndShowsTheForm)
{
    const std::string form =
        " | a clause is a name, one of = != < <= > >=, and a value, without blanks; commas "
        "join clauses, and blanks separate alternatives";
    EXPECT_EQ(refusal("cuda >= 12.4"), "requirement cuda: no comparison in it" + form);
    EXPECT_EQ(refusal(">=12.4"), "requirement >=12.4: no name in it" + form);
    EXPECT_EQ(refusal("cuda>="), "requirement cuda>=: no value in it" + form);
    EXPECT_EQ(refusal("cuda=>12"), "requirement cuda=>12: => is no comparison" + form);
    EXPECT_EQ(refusal("driver==550"), "requirement driver==550: == is no comparison" + form);
    EXPECT_EQ(refusal("cuda>="), "requirement cuda>=: no value in it" + form);
    EXPECT_EQ(refusal("brand=!tesla"), "requirement brand=!tesla: =! is no comparison" + form);
    EXPECT_EQ(refusal("cuda!12"), "requirement cuda!12: no comparison in it" + form);
    EXPECT_EQ(refusal("cuda>=12,"), "requirement '': an empty clause" + form);
    EXPECT_EQ(refusal(","), "requirement '': an empty clause" + form);
}

TEST(ExpressionTest, RefusesValuesOfAnotherKind)
{
    const std::string form = " | a version is numbers with dots between them, such as 12.4";
    for (const std::string value :
         {"x", "12.", ".4", "12..4", "12.4a", "-1", "1234567890", "1.2.3.4.5.6.7.8.9"})
        EXPECT_EQ(refusal("cuda>=" + value),
                  "requirement cuda>=" + value + ": " + value + " is not a version" + form);
    EXPECT_EQ(refusal("brand=a.b"),
              "requirement brand=a.b: a.b is not a word | a word has letters, "
              "digits, - and _");
    EXPECT_EQ(refusal("brand>=tesla"),
              "requirement brand>=tesla: brand can only be compared by = and != | ");
}

TEST(ExpressionTest, RefusesTextThatATerminalWouldObey)
{
    const std::string expected = "requirement: a character in it is not printable ASCII | ";
    EXPECT_EQ(refusal("cuda>=12.4\x1b[2J"), expected);
    EXPECT_EQ(refusal(std::string_view("cuda>=12\0", 9)), expected);
    EXPECT_EQ(refusal("brand=t\xc3\xa9sla"), expected);
}

TEST(ExpressionTest, HasLimits)
{
    const std::string clause = "driver>=" + std::string(longest_clause, '1');
    EXPECT_EQ(refusal(clause), "requirement driver>=" + std::string(24, '1')
                                   + "...: longer than 128 characters | blanks separate "
                                     "alternatives, and commas join clauses");
    std::string longest;
    while (longest.size() + 9 <= longest_expression)
        longest += "driver>1 ";
    EXPECT_EQ(read(longest).alternatives.size(), longest.size() / 9);
    longest.resize(longest_expression + 1, ' ');
    EXPECT_EQ(refusal(longest), "requirement: longer than 32768 characters | ");
}

TEST(VersionTest, IsComparedNumberByNumber)
{
    EXPECT_TRUE(std::is_gt(compare("12.10", "12.9")));
    EXPECT_TRUE(std::is_eq(compare("470.57.02", "470.57.2")));
    EXPECT_TRUE(std::is_eq(compare("12", "12.0.0")));
    EXPECT_TRUE(std::is_lt(compare("470", "470.57.02")));
    EXPECT_TRUE(std::is_lt(compare("9.0", "10.0")));
}

} // namespace
} // namespace gpucontainer::requirement
