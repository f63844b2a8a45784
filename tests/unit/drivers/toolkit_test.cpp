// SPDX-License-Identifier: MIT
#include "drivers/nvidia/toolkit.hpp"

#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::ElementsAre;

constexpr const char* version_file = R"({"cuda": {"name": "CUDA SDK", "version": "12.4.1"}})";
constexpr const char* header = "/* */\n#define CUDA_VERSION 11080\n";

class CudaToolkitTest : public ::testing::Test {
protected:
    std::string version() const
    {
        const auto toolkit = read_toolkit(host_.at("cuda").string());
        return toolkit ? toolkit->version : toolkit.error().message();
    }

    test::TempRoot host_;
};

constexpr const char* untold = "neither its version.json nor its include/cuda.h tells its version";

TEST_F(CudaToolkitTest, TellsItsVersion)
{
    host_.file("cuda/include/cuda.h", header);
    EXPECT_EQ(version(), "11.8");
    host_.file("cuda/version.json", version_file);
    EXPECT_EQ(version(), "12.4");
    struct stat status = {};
    ASSERT_EQ(::stat(host_.at("cuda").c_str(), &status), 0);
    EXPECT_EQ(read_toolkit(host_.at("cuda").string())->id, model::FileId::of(status));
}

TEST_F(CudaToolkitTest, IsADirectoryThatTells)
{
    EXPECT_EQ(read_toolkit(host_.at("cuda").string()).error().os_error(), ENOENT);
    host_.file("cuda/bin/nvcc");
    EXPECT_EQ(version(), untold);
    host_.file("file");
    EXPECT_EQ(read_toolkit(host_.at("file").string()).error().os_error(), ENOTDIR);
}

TEST_F(CudaToolkitTest, TellsNothingByFilesElsewhere)
{
    host_.file("outside.json", version_file);
    host_.link("cuda/version.json", host_.at("outside.json").string());
    EXPECT_EQ(version(), untold);
    host_.link("cuda/include", "../other");
    host_.file("other/cuda.h", header);
    EXPECT_EQ(version(), untold);
}

TEST_F(CudaToolkitTest, DoesNotWaitForAFifo)
{
    host_.file("cuda/bin/nvcc");
    ASSERT_EQ(::mkfifo(host_.at("cuda/version.json").c_str(), 0600), 0);
    EXPECT_EQ(version(), untold);
}

TEST_F(CudaToolkitTest, IsOfNoOtherText)
{
    for (const char* text : {"", "{", "[]", "{}", R"({"cuda": "12.4"})", R"({"cuda": {}})",
                             R"({"cuda": {"version": 12}})", R"({"cuda": {"version": "new"}})",
                             R"({"cuda": {"version": "12.4.1.1.1.1.1.1.1"}})"})
        EXPECT_EQ(cuda_of_version_file(text), "") << text;
    EXPECT_EQ(cuda_of_version_file(std::string(60000, '[')), "");
    EXPECT_EQ(cuda_of_version_file(R"({"cuda": {"version": "13.0.0"}})"), "13.0");
    EXPECT_EQ(cuda_of_version_file(R"({"cuda": {"version": "13"}})"), "13");
    for (const char* text :
         {"", "\n#define CUDA_VERSION", "\n#define CUDA_VERSION x\n", "\n#define CUDA_VERSION 9\n",
          "\n#define CUDA_VERSION 1000000\n", "\n#define CUDA_VERSION 99999999999999999999999\n"})
        EXPECT_EQ(cuda_of_header(text), "") << text;
    EXPECT_EQ(cuda_of_header("\n#define CUDA_VERSION 9020"), "9.2");
}

TEST_F(CudaToolkitTest, IsLookedForInTheUsualPlaces)
{
    for (const char* name : {"cuda-9.2", "cuda-12.10", "cuda-12.9", "cuda-old", "cudax"})
        host_.file(std::string("usr/local/") + name + "/f");
    const std::string root = host_.at("usr").parent_path().string();
    const std::string above = root + "/usr/local";
    EXPECT_THAT(usual_toolkits(root), ElementsAre(above + "/cuda", above + "/cuda-12.10",
                                                  above + "/cuda-12.9", above + "/cuda-9.2"));
}

TEST_F(CudaToolkitTest, FitsDriversOfItsMajorRelease)
{
    model::DriverStack driver;
    const auto judged = [&](const char* driver_version, const char* cuda) {
        driver.version = driver_version;
        const ToolkitVerdict verdict = judge_toolkit(driver, {"/t", {}, cuda});
        return !verdict.objection.empty() ? "no" : !verdict.doubt.empty() ? "maybe" : "yes";
    };
    EXPECT_STREQ(judged("550.54.14", "12.4"), "yes");
    EXPECT_STREQ(judged("550.54.14", "9.0"), "yes");
    EXPECT_STREQ(judged("550.54.14", "12.5"), "maybe");
    EXPECT_STREQ(judged("550.54.14", "13.0"), "no");
    EXPECT_STREQ(judged("450.80.02", "11.8"), "maybe");
    EXPECT_STREQ(judged("418.40", "10.2"), "no"); // the releases before 11 fit no older driver
    EXPECT_STREQ(judged("999.1", "99.0"), "maybe");
    EXPECT_STREQ(judged("", "12.4"), "maybe");
    EXPECT_STREQ(judged("36.4.3", "12.6"), "yes"); // a Jetson
    EXPECT_STREQ(judged("36.4.3", "13.0"), "no");
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
