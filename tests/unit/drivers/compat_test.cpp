// SPDX-License-Identifier: MIT
#include "drivers/nvidia/compat.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* note_of_590 =
    R"({"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550, 570, 575, 580, 590],)"
    R"( "Device": [1, 2, 7, 8, 9, 10, 11, 12, 13, 14]})";

class CompatTest : public ::testing::Test {
protected:
    CompatTest()
    {
        driver_.version = "535.183.01";
        driver_.gpus.resize(1);
        driver_.gpus[0].model = "NVIDIA A100-SXM4-80GB";
        driver_.gpus[0].architecture = "8.0";
    }

    std::string objection() const
    {
        return judge_compat(driver_, driver_.gpus, library_).objection;
    }

    model::DriverStack driver_;
    CompatLibrary library_ = {"/usr/local/cuda/compat", "590.44.01", {note_of_590}};
};

TEST_F(CompatTest, WorksWhereItsNoteSaysSo)
{
    const CompatVerdict verdict = judge_compat(driver_, driver_.gpus, library_);
    EXPECT_EQ(verdict.objection, "");
    EXPECT_EQ(verdict.title, "CUDA 13.1, driver 590.44.01");

    driver_.version = "565.57.01";
    EXPECT_EQ(objection(), "it supports the driver's branches 535, 550, 570, 575, 580, 590, and "
                           "the host's driver is 565.57.01");
}

TEST_F(CompatTest, IsNewerThanTheHostsDriver)
{
    driver_.version = "590.48.01";
    EXPECT_EQ(objection(), "it is not newer than the host's driver 590.48.01");
    driver_.version = "610.1";
    EXPECT_EQ(objection(), "it is not newer than the host's driver 610.1");
    // The version that the note has counts even if the file's name claims another one.
    library_.version = "999.1";
    driver_.version = "590.48.01";
    EXPECT_EQ(objection(), "the host's driver 590.48.01 supports CUDA 13.1 itself");
    driver_.version = "9.1"; // older than all that is known
    EXPECT_THAT(objection(), HasSubstr("it is not known which CUDA"));
}

TEST_F(CompatTest, IsForDataCentreGpus)
{
    for (const char* model : {"NVIDIA GeForce RTX 3090", "NVIDIA TITAN RTX", "", "Matrox"}) {
        driver_.gpus[0].model = model;
        EXPECT_THAT(objection(), HasSubstr("it supports data-centre GPUs and the like")) << model;
    }
    for (const char* model : {"Tesla T4", "NVIDIA H200", "NVIDIA RTX A6000", "Quadro RTX 8000"}) {
        driver_.gpus[0].model = model;
        EXPECT_EQ(objection(), "") << model;
    }
    // Each of them counts.
    driver_.gpus.push_back(driver_.gpus[0]);
    driver_.gpus[1].index = 1;
    driver_.gpus[1].model = "NVIDIA GeForce GTX 1080";
    EXPECT_EQ(objection(),
              "it supports data-centre GPUs and the like, not GPU 1 (NVIDIA GeForce GTX 1080)");
    driver_.gpus.clear();
    EXPECT_EQ(objection(), "the container gets no GPU");
}

TEST_F(CompatTest, InstancesAreOfTheirGpusBrand)
{
    model::Gpu instance;
    instance.parent = 0;
    EXPECT_EQ(judge_compat(driver_, std::vector{instance}, library_).objection, "");
    driver_.gpus[0].model = "NVIDIA GeForce RTX 3090";
    EXPECT_NE(judge_compat(driver_, std::vector{instance}, library_).objection, "");
    instance.parent = 7;
    EXPECT_NE(judge_compat(driver_, std::vector{instance}, library_).objection, "");
}

TEST_F(CompatTest, WithoutANoteTheTablesCount)
{
    library_ = {"/usr/local/cuda/compat", "550.54.15", {}};
    EXPECT_EQ(objection(), "");
    driver_.version = "530.30.02";
    EXPECT_EQ(objection(), "it supports the driver's branches 470, 525, 535, and the host's driver "
                           "is 530.30.02");
    driver_.version = "470.57.02";
    EXPECT_EQ(objection(), "");
    driver_.gpus[0].model = "NVIDIA GeForce RTX 3090";
    EXPECT_NE(objection(), "");
    driver_.gpus[0].model = "Tesla T4";
    library_.version = "410.1";
    EXPECT_EQ(objection(), "it is not newer than the host's driver 470.57.02");
    library_.version = "";
    EXPECT_EQ(objection(), "neither its file's name nor a note in it tells its version");
}

TEST_F(CompatTest, OfATegraItsVersionOfCudaCounts)
{
    driver_.version = "36.4.3";
    driver_.gpus[0].model = "Orin (nvgpu)";
    driver_.gpus[0].architecture = "8.7";
    library_ = {"/usr/local/cuda/compat_orin", "1.1", {R"({"Format": 1, "CUDA Version": "13.2"})"}};
    EXPECT_EQ(objection(), "");
    driver_.version = "38.2";
    EXPECT_EQ(objection(), "");
    library_.notes = {R"({"Format": 1, "CUDA Version": "13.0"})"};
    EXPECT_EQ(objection(), "the host's driver 38.2 supports CUDA 13.0 itself");
    library_.notes = {note_of_590};
    EXPECT_EQ(objection(), "it is for other hosts than a Tegra");
    library_.notes = {};
    EXPECT_EQ(objection(), "nothing tells which hosts it is for");

    driver_.gpus[0].architecture = "11.0";
    library_.notes = {R"({"Format": 1, "CUDA Version": "13.2"})"};
    EXPECT_EQ(objection(), "it is for a Tegra with the chip Orin");
    driver_.version = "535.183.01";
    library_.directory = "/usr/local/cuda/compat";
    EXPECT_EQ(objection(), "it is for Tegras");
}

TEST_F(CompatTest, ANoteThatIsNotUnderstoodIsNone)
{
    for (const char* note :
         {"", "{", "[]", "null", R"({"Format": 2, "CUDA Version": "13.1"})",
          R"({"Format": 1, "CUDA Version": 13.1})", R"({"Format": 1, "CUDA Version": "x"})",
          R"({"CUDA Version": "13.1"})", R"({"Format": 1})",
          R"({"Format": 1, "CUDA Version": "13.1", "Driver": 535})",
          R"({"Format": 1, "CUDA Version": "13.1", "Driver": [-1]})",
          R"({"Format": 1, "CUDA Version": "13.1", "Device": ["2"]})",
          R"({"Format": 1, "CUDA Version": "13.1", "Device": [4294967297]})"}) {
        EXPECT_FALSE(parse_compat_note(note)) << note;
        library_.notes = {note};
        EXPECT_EQ(objection(), "its note is not of a known form") << note;
    }
    EXPECT_FALSE(parse_compat_note(std::string(60000, '[')));
}

/// An image may have a thousand of them.
TEST_F(CompatTest, ReadsNoNoteThatTakesLong)
{
    EXPECT_TRUE(parse_compat_note(note_of_590 + std::string(4000, ' ')));
    EXPECT_FALSE(parse_compat_note(note_of_590 + std::string(9000, ' ')));
    const std::string beginning = R"({"Format": 1, "CUDA Version": "13.1", "Other": )";
    EXPECT_TRUE(parse_compat_note(beginning + "[[[]]]}"));
    EXPECT_FALSE(parse_compat_note(beginning + "[[[[]]]]}"));
}

TEST_F(CompatTest, DirectoriesAreThoseOfNvidiasPackages)
{
    const auto directories = compat_directories(driver_);
    EXPECT_EQ(directories.front(), "/usr/local/cuda/compat_orin");
    EXPECT_EQ(directories.at(1), "/usr/local/cuda/compat");
    EXPECT_THAT(directories, Contains("/usr/local/cuda-12.8/compat"));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
