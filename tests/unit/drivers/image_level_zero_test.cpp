// SPDX-License-Identifier: MIT
#include "drivers/intel/image_level_zero.hpp"

#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::drivers::intel {
namespace {

using model::Severity;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ImageLevelZeroTest : public ::testing::Test {
protected:
    ImageLevelZeroTest() { add_gpu("Intel device e20b"); }

    void add_gpu(const char* model)
    {
        model::Gpu gpu;
        gpu.index = static_cast<unsigned>(gpus_.size());
        gpu.model = model;
        gpus_.push_back(std::move(gpu));
    }

    void add_driver(const std::string& version)
    {
        const std::string directory = rootfs::library_directories(elf::own_machine()).front();
        path_ = directory + "/libze_intel_gpu.so.1";
        view_.file(path_ + version);
        view_.link(path_, path_ + version);
    }

    model::Causes causes() const
    {
        model::Causes causes;
        EXPECT_TRUE(check_container({view_, {}, {}}, driver_, gpus_, causes));
        return causes;
    }

    test::FakeView view_ = test::FakeView::distribution();
    std::string path_;
    model::DriverStack driver_;
    std::vector<model::Gpu> gpus_;
};

TEST_F(ImageLevelZeroTest, DriverIsOlderThanTheBoard)
{
    add_driver(".3.24347");
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
    EXPECT_FALSE(found[0].certain);
    EXPECT_EQ(found[0].finding.evidence, path_);
    EXPECT_EQ(found[0].finding.message(),
              "GPU 0 (Battlemage): is younger than the container's driver of Level Zero, "
              "libze_intel_gpu.so.1.3.24347: programs may not find it");
    EXPECT_THAT(found[0].finding.hint, HasSubstr("24.48"));
}

TEST_F(ImageLevelZeroTest, DriverKnowsTheBoard)
{
    EXPECT_THAT(causes(), IsEmpty()); // no driver
    add_driver(".6.33578");
    EXPECT_THAT(causes(), IsEmpty());
    add_driver(".x");
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageLevelZeroTest, OlderBoardsAreKnownToAll)
{
    gpus_.clear();
    add_gpu("Intel device 56a0");
    add_gpu("Intel GPU");
    add_driver(".3.24347");
    EXPECT_THAT(causes(), IsEmpty());
    add_gpu("Intel device 64a0");
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].blocks, model::Blocks::some);
}

TEST_F(ImageLevelZeroTest, NameOfTheFileHasTheRelease)
{
    EXPECT_EQ(build_of("libze_intel_gpu.so.1.6.33578"), 33578U);
    for (const char* none :
         {"libze_intel_gpu.so.1", "libze_intel_gpu.so.1.6", "", "libze_intel_gpu.so.1.6.x",
          "libze_intel_gpu.so.1.6.99999999", "libze_intel_gpu.so.2.6.33578"})
        EXPECT_EQ(build_of(none), 0U) << none;
}

} // namespace
} // namespace gpucontainer::drivers::intel
