// SPDX-License-Identifier: MIT
#include "detect/fingerprint.hpp"

#include "drivers/described_maker.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace gpucontainer::detect {
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

        model::DriverStack driver;
        driver.vendor = "nvidia";
        driver.root = host_.at("drv").string();
        driver.gpus.resize(1);
        driver.gpus[0].uuid = "GPU-1";
        driver.gpus[0].pci_address = "0000:3b:00.0";
        driver.files.resize(1);
        driver.files[0].path = host_.at("drv/lib/libcuda.so.580.1").string();
        driver.files[0].registrations = {{model::Manner::egl_vendor, "10_nvidia.json"}};
        host_.file("drv/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "{}");
        driver.nodes.resize(1);
        driver.nodes[0].host_path = "/dev/nvidia0";
        driver.missing_nodes.resize(1);
        driver.missing_nodes[0].host_path = "/dev/nvidia1";
        driver.nodes[0].accessible = true;
        drivers_.push_back(std::move(driver));
        site_ = {host_.at("site"), host_.at("site/a.yaml"), host_.at("link.yaml")};
        host_.file("site/a.yaml", "");
        std::filesystem::create_symlink(host_.at("site/a.yaml"), host_.at("link.yaml"));
        marks_ = detect([] {});
        wait_for_a_tick();
    }

    /// The fingerprint of a detection during which something happened.
    template <typename Change>
    std::vector<Mark> detect(Change&& change)
    {
        wait_for_a_tick();
        auto beginning = begin_fingerprint(root());
        note_described(beginning, root(), described_);
        change();
        return fingerprint(root(), drivers_, site_, std::move(beginning));
    }

    /// Whether what was detected counts for ever, had the host changed meanwhile.
    template <typename Change>
    bool is_current_after(Change&& change)
    {
        marks_ = detect(std::forward<Change>(change));
        wait_for_a_tick();
        return is_current();
    }

    std::string root() const { return host_.at("drv").parent_path().string(); }
    bool is_current() const { return detect::is_current(root(), drivers_, marks_); }

    test::TempRoot host_;
    std::vector<model::DriverStack> drivers_;
    std::vector<std::string> site_;
    std::vector<drivers::Vendor> described_;
    std::vector<Mark> marks_;

private:
    /// Until the file system's clock has moved on: it counts in milliseconds.
    static void wait_for_a_tick()
    {
        timespec now = {};
        timespec files = {};
        ASSERT_EQ(::clock_gettime(CLOCK_REALTIME, &now), 0);
        do {
            (void)::usleep(1000);
            ASSERT_EQ(::clock_gettime(CLOCK_REALTIME_COARSE, &files), 0);
        } while (std::tie(files.tv_sec, files.tv_nsec) <= std::tie(now.tv_sec, now.tv_nsec));
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

TEST_F(FingerprintTest, ChangesWithTheManifestsOfTheHost)
{
    host_.file("drv/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "{ }");
    EXPECT_FALSE(is_current());

    marks_ = detect([] {});
    EXPECT_TRUE(is_current());
    host_.file("drv/etc/glvnd/egl_vendor.d/10_nvidia.json", "{}"); // goes before the other
    EXPECT_FALSE(is_current());

    host_.file("drv/usr/local/share/vulkan/icd.d/nvidia_icd.json", "{}");
    EXPECT_FALSE(is_current_after(
        [&] { host_.file("drv/usr/share/glvnd/egl_vendor.d/10_nvidia.json", "{  }"); }));
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

    EXPECT_FALSE(is_current_after([] {}));
}

TEST_F(FingerprintTest, DoesNotWaitForTheUuidOfAGpuThatIsOnNoBus)
{
    drivers_[0].gpus[0].uuid.clear();
    drivers_[0].gpus[0].pci_address.clear();

    EXPECT_TRUE(is_current_after([] {}));
}

TEST_F(FingerprintTest, ChangesWithTheListsOfOptionalFiles)
{
    const std::string lists = "drv/etc/nvidia-container-runtime/host-files-for-container.d";
    drivers_[0].optional_files = true;
    EXPECT_TRUE(is_current_after([] {}));

    host_.file(lists + "/a.csv", "");
    EXPECT_FALSE(is_current());

    EXPECT_TRUE(is_current_after([] {}));
    host_.file(lists + "/a.csv", "edited");
    EXPECT_FALSE(is_current());

    EXPECT_FALSE(is_current_after([&] { host_.file(lists + "/a.csv", "edited again"); }));
    EXPECT_TRUE(is_current_after([] {}));
    host_.file("drv/etc/nv_tegra_release", "");
    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, OfAHostWithoutGpusChangesWhenAModuleIsLoaded)
{
    std::filesystem::remove_all(host_.at("proc/driver"));
    drivers_.clear();
    EXPECT_TRUE(is_current_after([] {}));

    host_.file("proc/driver/nvidia/version", "580.1\n");

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWithASitesCatalogues)
{
    host_.file("site/a.yaml", "edited");
    EXPECT_FALSE(is_current());

    EXPECT_TRUE(is_current_after([] {}));
    host_.file("site/b.yaml", "");
    EXPECT_FALSE(is_current());

    EXPECT_TRUE(is_current_after([] {}));
    std::filesystem::remove_all(host_.at("site"));
    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, ChangesWithTheGpusThatASiteDescribes)
{
    config::Maker acme;
    acme.device_class = "acme";
    acme.module = "acme_gpu";
    described_ = {drivers::described_vendor(acme, {})};
    EXPECT_TRUE(is_current_after([] {}));
    host_.file("sys/class/acme/acme0", "");
    EXPECT_FALSE(is_current());

    EXPECT_TRUE(is_current_after([] {}));
    host_.file("sys/module/acme_gpu/refcnt", "1");
    EXPECT_FALSE(is_current());

    EXPECT_FALSE(is_current_after([&] { host_.file("sys/class/acme/acme1", ""); }));
}

TEST_F(FingerprintTest, ChangesWithTheNodesThatASiteDescribes)
{
    const std::array<config::Maker::Node, 2> nodes = {
        config::Maker::Node{"/dev/dri/renderD*", "drm", "", std::nullopt, "graphics", true},
        config::Maker::Node{"/dev/acme_ctl", "", "acme", 0, "none", true}};
    config::Maker acme;
    acme.device_class = "acme";
    acme.nodes = nodes;
    described_ = {drivers::described_vendor(acme, {})};
    EXPECT_TRUE(is_current_after([] {}));
    host_.file("sys/class/drm/renderD128", "");
    EXPECT_FALSE(is_current());

    host_.file("proc/devices", "Character devices:\n");
    EXPECT_TRUE(is_current_after([] {}));
    host_.file("proc/devices", "Character devices:\n250 acme\n");
    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, DoesNotWaitForTheUuidOfADescribedGpu)
{
    drivers_[0].vendor = "acme";
    drivers_[0].gpus[0].uuid.clear();

    EXPECT_TRUE(is_current_after([] {}));
}

TEST_F(FingerprintTest, FollowsALinkToACatalogue)
{
    host_.file("other.yaml", "");
    std::filesystem::remove(host_.at("link.yaml"));
    std::filesystem::create_symlink(host_.at("other.yaml"), host_.at("link.yaml"));

    EXPECT_FALSE(is_current());
}

TEST_F(FingerprintTest, IsNeverCurrentWhenTheHostChangedDuringDetection)
{
    EXPECT_TRUE(is_current_after([] {}));
    const auto removes = [&](const char* path) {
        return [this, path] { std::filesystem::remove_all(host_.at(path)); };
    };
    const auto writes = [&](const char* path) {
        return [this, path] { host_.file(path, "changed"); };
    };

    EXPECT_FALSE(is_current_after(writes("drv/lib/libcuda.so.590.1")));
    EXPECT_FALSE(is_current_after(writes("drv/etc/ld.so.cache")));
    EXPECT_FALSE(is_current_after(removes("drv/etc/ld.so.cache")));
    EXPECT_FALSE(is_current_after(writes("site/a.yaml")));
    EXPECT_FALSE(is_current_after(writes("site/b.yaml")));
    EXPECT_FALSE(is_current_after(removes("site")));
    EXPECT_FALSE(is_current_after([&] { ::chmod(host_.at("dev/nvidia0").c_str(), 0600); }));
    EXPECT_FALSE(is_current_after(writes("dev/nvidia1")));
    EXPECT_FALSE(is_current_after(writes("proc/driver/nvidia/version")));
    EXPECT_TRUE(is_current_after([] {}));
    EXPECT_FALSE(is_current_after(removes("dev/nvidia0")));
    EXPECT_FALSE(is_current_after(removes("drv/lib")));
}

TEST_F(FingerprintTest, HoldsWhatDetectionWasToldOfANode)
{
    drivers_[0].nodes[0].accessible = false;

    EXPECT_FALSE(is_current_after([] {}));
}

} // namespace
} // namespace gpucontainer::detect
