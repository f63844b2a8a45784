// SPDX-License-Identifier: MIT
#include "vendor/fingerprint.hpp"

#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>

namespace gpucontainer::vendor {
namespace {

/// A host of files whose driver has one GPU, one library and one node.
class FingerprintTest : public ::testing::Test {
protected:
    FingerprintTest()
    {
        host_.file("proc/sys/kernel/random/boot_id", "boot-1\n");
        host_.file("proc/driver/nvidia/version", "580.1\n");
        host_.file("proc/driver/nvidia/gpus/0000:3b:00.0/information", "");
        host_.file("sys/module/nvidia/refcnt", "1");
        host_.file("dev/nvidia0", "");
        host_.file("drv/lib/libcuda.so.580.1", "");
        host_.file("drv/etc/ld.so.cache", "");

        DriverStack driver;
        driver.root = host_.at("drv").string();
        driver.gpus.resize(1);
        driver.gpus[0].uuid = "GPU-1";
        driver.files.resize(1);
        driver.files[0].path = host_.at("drv/lib/libcuda.so.580.1").string();
        driver.nodes.resize(1);
        driver.nodes[0].host_path = "/dev/nvidia0";
        driver.missing_nodes.resize(1);
        driver.missing_nodes[0].host_path = "/dev/nvidia1";
        drivers_.push_back(std::move(driver));
        marks_ = fingerprint(root(), drivers_);
        wait_for_a_tick();
    }

    std::string root() const { return host_.at("drv").parent_path().string(); }
    bool is_current() const { return vendor::is_current(root(), drivers_, marks_); }

    test::TempRoot host_;
    std::vector<DriverStack> drivers_;
    std::vector<Mark> marks_;

private:
    /// Until the file system's clock has moved on: it counts in milliseconds.
    void wait_for_a_tick()
    {
        const auto time = [&] { return std::filesystem::last_write_time(host_.at("clock")); };
        host_.file("clock", "");
        const auto before = time();
        while (time() == before)
            host_.file("clock", "x");
    }
};

TEST_F(FingerprintTest, IsTheSameWhileNothingChanges) { EXPECT_TRUE(is_current()); }

TEST_F(FingerprintTest, ChangesWithTheBoot)
{
    host_.file("proc/sys/kernel/random/boot_id", "boot-2\n");

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWithTheModule)
{
    host_.file("proc/driver/nvidia/version", "590.1\n");

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWhenTheModuleIsLoadedAgain)
{
    std::filesystem::rename(host_.at("sys/module/nvidia"), host_.at("sys/module/old"));
    host_.file("sys/module/nvidia/refcnt", "1");

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWhenAGpuIsUnbound)
{
    std::filesystem::remove_all(host_.at("proc/driver/nvidia/gpus/0000:3b:00.0"));

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWhenTheDriverIsReplaced)
{
    host_.file("drv/lib/new", "");
    std::filesystem::rename(host_.at("drv/lib/new"), host_.at("drv/lib/libcuda.so.580.1"));

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWithTheLoaderCache)
{
    std::filesystem::remove(host_.at("drv/etc/ld.so.cache"));

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWithThePermissionsOfANode)
{
    ASSERT_EQ(::chmod(host_.at("dev/nvidia0").c_str(), 0600), 0);

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWhenAMissingNodeIsMade)
{
    host_.file("dev/nvidia1", "");

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, IsNeverCurrentWhileAUuidIsUnknown)
{
    drivers_[0].gpus[0].uuid.clear();

    EXPECT_FALSE(vendor::is_current(root(), drivers_, fingerprint(root(), drivers_)));
}

TEST_F(FingerprintTest, OfAHostWithoutGpusChangesWhenAModuleIsLoaded)
{
    std::filesystem::remove_all(host_.at("proc/driver"));
    const auto before = fingerprint(root(), {});
    EXPECT_TRUE(vendor::is_current(root(), {}, before));

    host_.file("proc/driver/nvidia/version", "580.1\n");

    EXPECT_FALSE(vendor::is_current(root(), {}, before));
}

} // namespace
} // namespace gpucontainer::vendor
