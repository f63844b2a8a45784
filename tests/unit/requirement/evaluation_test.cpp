// SPDX-License-Identifier: MIT
#include "requirement/evaluation.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::requirement {
namespace {

constexpr std::array names = {Name{"cuda"}, Name{"driver"}, Name{"arch"},
                              Name{"brand", Kind::word}};

Expression read(std::string_view text)
{
    auto expression = parse(text, names);
    EXPECT_TRUE(expression) << expression.error().message();
    return expression ? *std::move(expression) : Expression();
}

std::vector<Fact> driver()
{
    return {{"driver", false, {"470.57.02"}, false, "the driver is 470.57.02"},
            {"cuda",
             false,
             {"11.4"},
             false,
             "driver 470.57.02 supports CUDA 11.4",
             {{"11.4", "driver 470.42.01"}, {"12.2", "driver 535.54.03"}, {"12.4", "driver 550"}}}};
}

Subject gpu(const std::string& index, const std::string& arch = "7.5")
{
    Subject subject = {index, driver()};
    subject.facts.push_back({"arch", true, {arch}, false, "GPU " + index + " has " + arch});
    subject.facts.push_back(
        {"brand", true, {"tesla", "nvidia"}, false, "GPU " + index + " is of brand tesla"});
    return subject;
}

/// A GPU that no table has: with a driver that supports none before 7.5, or without such a driver.
Subject new_gpu(bool has_least = true)
{
    Subject subject = gpu("0");
    subject.facts.at(2).values.resize(has_least ? 1 : 0);
    subject.facts.at(2).or_later = has_least;
    subject.facts.at(2).sentence = "the chip of GPU 0 is not known";
    return subject;
}

Subject without_gpu() { return {"", driver()}; }

std::string refusal(std::string_view text, const std::vector<Subject>& chosen,
                    const std::vector<Subject>& others = {})
{
    const auto checked = check(read(text), chosen, others);
    if (checked)
        return "met";
    EXPECT_EQ(checked.error().code(), Errc::requirement);
    return checked.error().message() + " | " + checked.error().hint();
}

TEST(EvaluationTest, AllClausesOfOneAlternativeHaveToHold)
{
    EXPECT_EQ(refusal("cuda>=11.4,arch>=7.5,brand=tesla", {gpu("0")}), "met");
    EXPECT_EQ(refusal("cuda>=12.4 brand=tesla,driver>=470,driver<471", {gpu("0")}), "met");
    EXPECT_NE(refusal("cuda>=12.4 brand=tesla,driver>=450,driver<451", {gpu("0")}), "met");
    EXPECT_NE(refusal("cuda>=11.4,arch>=8.0", {gpu("0")}), "met");
}

TEST(EvaluationTest, ComparesByEachRelation)
{
    for (const char* const text :
         {"cuda=11.4", "cuda=11.4.0", "cuda!=11.5", "cuda<11.5", "cuda<=11.4", "cuda>11.3",
          "cuda>=11.4", "brand=TESLA", "brand=Nvidia", "brand!=geforce"})
        EXPECT_EQ(refusal(text, {gpu("0")}), "met") << text;
    for (const char* const text :
         {"cuda=11.5", "cuda!=11.4", "cuda<11.4", "cuda<=11.3", "cuda>11.4", "cuda>=11.5",
          "brand=geforce", "brand!=tesla", "brand!=nvidia", "driver=470"})
        EXPECT_NE(refusal(text, {gpu("0")}), "met") << text;
}

TEST(EvaluationTest, NamesTheClauseAndWhatWouldMeetIt)
{
    EXPECT_EQ(refusal("cuda>=12.2", {gpu("0")}),
              "requirement cuda>=12.2: not met: driver 470.57.02 supports CUDA 11.4 | install "
              "driver 535.54.03 or later");
    EXPECT_EQ(refusal("driver>=535", {gpu("0")}),
              "requirement driver>=535: not met: the driver is 470.57.02 | install driver 535 or "
              "later");
    EXPECT_EQ(refusal("cuda>=14", {gpu("0")}),
              "requirement cuda>=14: not met: driver 470.57.02 supports CUDA 11.4 | install a "
              "driver with cuda>=14");
    EXPECT_EQ(refusal("arch>=9.0", {gpu("0")}),
              "requirement arch>=9.0: not met: GPU 0 has 7.5 | it needs a GPU with arch>=9.0");
    EXPECT_EQ(refusal("cuda>=12.4,arch>=9.0", {gpu("0")}),
              "requirement cuda>=12.4: not met: driver 470.57.02 supports CUDA 11.4; arch>=9.0: "
              "not met: GPU 0 has 7.5 | it needs driver 550 or later and a GPU with arch>=9.0");
}

TEST(EvaluationTest, OfSeveralAlternativesShowsTheClosestAndProposesThoseOfThisGpu)
{
    EXPECT_EQ(refusal("cuda>=12.4 brand=geforce,driver>=470,driver<471 "
                      "brand=tesla,driver>=450,driver<451 brand=nvidia,driver>=450,driver<451",
                      {gpu("0")}),
              "requirement cuda>=12.4: not met: driver 470.57.02 supports CUDA 11.4; nor is one of "
              "the other 3 alternatives met | install driver 550 or later, or a driver with "
              "driver>=450,driver<451");
    EXPECT_EQ(refusal("arch>=9.0 cuda>=12.2", {gpu("0")}),
              "requirement cuda>=12.2: not met: driver 470.57.02 supports CUDA 11.4; nor is the "
              "other alternative met | install driver 535.54.03 or later");
}

TEST(EvaluationTest, EveryChosenGpuHasToMeetIt)
{
    EXPECT_EQ(refusal("arch>=8.0", {gpu("0", "9.0"), gpu("1")},
                      {gpu("2", "8.6"), gpu("3", "7.0"), gpu("4", "8.0")}),
              "requirement arch>=8.0: not met: GPU 1 has 7.5 | choose among GPUs 2, 4, which meet "
              "it");
    EXPECT_EQ(refusal("arch>=8.0", {gpu("0", "9.0")}, {gpu("1")}), "met");
    EXPECT_EQ(refusal("arch>=8.0 cuda>=12.2", {gpu("1")}, {gpu("2", "8.6")}),
              "requirement cuda>=12.2: not met: driver 470.57.02 supports CUDA 11.4; nor is the "
              "other alternative met | choose GPU 2, which meets it; or install driver 535.54.03 "
              "or later");
}

TEST(EvaluationTest, WithoutAGpuItsClausesHold)
{
    EXPECT_EQ(refusal("arch>=9.0,brand=geforce,cuda>=11.4", {without_gpu()}), "met");
    EXPECT_NE(refusal("arch>=9.0,brand=geforce,cuda>=11.5", {without_gpu()}), "met");
}

TEST(EvaluationTest, WhatIsNotKnownIsNotMet)
{
    EXPECT_EQ(refusal("arch>=7.0", {new_gpu(false)}, {gpu("1")}),
              "requirement arch>=7.0: cannot be checked: the chip of GPU 0 is not known | choose "
              "GPU 1, which meets it; or leave out what you know to hold");
    EXPECT_EQ(refusal("arch<7.0 cuda>=12", {new_gpu(false)}),
              "requirement arch<7.0: cannot be checked: the chip of GPU 0 is not known; nor is the "
              "other alternative met | leave out what you know to hold");
}

TEST(EvaluationTest, WhatIsNotKnownDoesNotMatterIfTheRestDecides)
{
    EXPECT_EQ(refusal("arch>=7.0 cuda>=11.4", {new_gpu(false)}), "met");
    EXPECT_EQ(
        refusal("arch>=7.0,cuda>=12.2", {new_gpu(false)}),
        "requirement arch>=7.0: cannot be checked: the chip of GPU 0 is not known; "
        "cuda>=12.2: not met: driver 470.57.02 supports CUDA 11.4 | it needs driver 535.54.03 "
        "or later and a GPU with arch>=7.0");
}

TEST(EvaluationTest, AVersionThatMayBeLaterDecidesWhatNoLaterOneChanges)
{
    for (const char* const text : {"arch>=7.5", "arch>=7.0", "arch>7.0", "arch!=7.0"})
        EXPECT_EQ(truth_of(read(text), new_gpu()), Truth::yes) << text;
    for (const char* const text : {"arch<7.5", "arch<7.0", "arch<=7.0", "arch=7.0"})
        EXPECT_EQ(truth_of(read(text), new_gpu()), Truth::no) << text;
    for (const char* const text : {"arch>=8.0", "arch>7.5", "arch>8.0", "arch!=7.5", "arch!=8.0",
                                   "arch<8.0", "arch<=7.5", "arch<=8.0", "arch=7.5", "arch=8.0"})
        EXPECT_EQ(truth_of(read(text), new_gpu()), Truth::unknown) << text;
}

TEST(EvaluationTest, AMessageHasAFewClausesOnly)
{
    std::string text = "cuda>=12.2";
    for (int i = 0; i < 1000; ++i)
        text += ",driver>=535";

    const std::string message = refusal(text, {gpu("0")});

    EXPECT_LT(message.size(), 700U);
    EXPECT_NE(message.find("; and 995 more clauses | install a driver with cuda>=12.2,"),
              std::string::npos)
        << message;
}

TEST(EvaluationTest, AGpuThatTheDriverCannotUseMeetsNothing)
{
    Subject dropped = gpu("0", "6.1");
    dropped.obstacle = "driver 595 does not support GPU 0";
    dropped.hint = "use an older driver";

    EXPECT_EQ(refusal("cuda>=11.0", {dropped}),
              "requirement cuda>=11.0: driver 595 does not support GPU 0 | use an older driver");
    EXPECT_EQ(refusal("", {dropped}), "met");
    EXPECT_EQ(refusal("arch>=6.1,cuda>=12.2", {gpu("1")}, {dropped}),
              "requirement cuda>=12.2: not met: driver 470.57.02 supports CUDA 11.4 | install "
              "driver 535.54.03 or later");
}

} // namespace
} // namespace gpucontainer::requirement
