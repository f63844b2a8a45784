// SPDX-License-Identifier: MIT
#include "drivers/nvidia/nvidia.hpp"

#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::drivers::nvidia {

using model::VersionSource;

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NvidiaTest : public ::testing::Test {
protected:
    void load_module(const std::string& version)
    {
        system_.file("sys/module/nvidia/version", version + "\n");
    }

    void add_driven_gpu()
    {
        system_.file("proc/driver/nvidia/gpus/0000:06:00.0/information",
                     "GPU UUID: GPU-1\nDevice Minor: 0\n");
        pci_.add("0000:06:00.0", "nvidia", 0);
    }

    void install(const std::string& version)
    {
        tree_.library("usr/lib64/libcuda.so." + version, "libcuda.so.1");
        tree_.link("usr/lib64/libcuda.so.1", "libcuda.so." + version);
    }

    Result<std::optional<model::DriverStack>> find(const std::string& given_version = "")
    {
        const auto root = tree_.open_driver();
        Sources sources = {pci_, root, system_.at("proc").parent_path().string(), given_version};
        sources.whole_bus = whole_bus_;
        return detect(sources);
    }

    /// What is said of GPUs that programs cannot use.
    std::vector<std::string> unusable_gpus()
    {
        const auto found = find();
        std::vector<std::string> named;
        EXPECT_TRUE(found && *found);
        if (found && *found)
            for (const model::Finding& finding : (*found)->findings)
                if (finding.code == model::FindingCode::gpu_unusable)
                    named.push_back(finding.message());
        return named;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator pci_;
    bool whole_bus_ = false;
};

TEST_F(NvidiaTest, IsNotThereWithoutAGpu)
{
    install("535.54.03");

    const auto found = find();

    ASSERT_TRUE(found) << found.error().message();
    EXPECT_FALSE(*found);
}

TEST_F(NvidiaTest, HasTheVersionOfTheModule)
{
    load_module("535.54.03");
    add_driven_gpu();
    install("535.54.03");

    const auto found = find();

    ASSERT_TRUE(found) << found.error().message();
    ASSERT_TRUE(*found);
    const model::DriverStack& driver = **found;
    EXPECT_EQ(driver.vendor, "nvidia");
    EXPECT_EQ(driver.version, "535.54.03");
    EXPECT_EQ(driver.version_source, VersionSource::module);
    EXPECT_EQ(driver.root, tree_.prefix());
    ASSERT_EQ(driver.visible_devices.size(), 2U);
    EXPECT_THAT(test::unnamed_variables(driver), IsEmpty());
    EXPECT_EQ(driver.visible_devices[0].name, "NVIDIA_VISIBLE_DEVICES");
    EXPECT_EQ(driver.visible_devices[1].name, "CUDA_VISIBLE_DEVICES");
    EXPECT_THAT(driver.gpus, SizeIs(1));
    EXPECT_THAT(driver.files, SizeIs(1));
    EXPECT_EQ(pci_.scans, 0) << "looked at every PCI function";
}

TEST_F(NvidiaTest, RefusesFilesOfAnotherVersionThanTheModule)
{
    load_module("580.159.04");
    add_driven_gpu();
    install("535.54.03");

    const auto found = find();

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::driver);
    EXPECT_THAT(found.error().message(),
                HasSubstr("is version 535.54.03; the kernel module is version 580.159.04"));
}

TEST_F(NvidiaTest, BelievesTheCallersVersionBeforeTheModules)
{
    load_module("580.159.04");
    add_driven_gpu();
    install("535.54.03");

    const auto found = find("535.54.03");

    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ((*found)->version, "535.54.03");
    EXPECT_EQ((*found)->version_source, VersionSource::option);
}

TEST_F(NvidiaTest, InfersTheVersionWithoutAModule)
{
    pci_.add("0000:06:00.0", "");
    install("535.54.03");

    const auto found = find();

    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ((*found)->version, "535.54.03");
    EXPECT_EQ((*found)->version_source, VersionSource::files);
}

TEST_F(NvidiaTest, SaysThatNoModuleIsLoadedWhenThereIsNoUserSpaceEither)
{
    pci_.add("0000:06:00.0", "");

    const auto found = find();

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::no_device);
    EXPECT_EQ(found.error().message(),
              "the NVIDIA kernel module is not loaded: no libcuda.so.1 in " + tree_.prefix());
}

TEST_F(NvidiaTest, NamesTheDriverThatHasTheGpu)
{
    pci_.add("0000:06:00.0", "nouveau");
    pci_.add("0000:07:00.0", "");

    const auto found = find();

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::no_device);
    EXPECT_EQ(found.error().message(),
              "the NVIDIA kernel module is not loaded: GPU 0000:06:00.0: bound to the kernel "
              "driver nouveau, GPU 0000:07:00.0: no kernel driver is bound to it");
    EXPECT_THAT(found.error().hint(), HasSubstr("`blacklist nouveau`"));
}

TEST_F(NvidiaTest, SaysThatTheModuleDrivesNothing)
{
    load_module("535.54.03");
    install("535.54.03");
    pci_.add("0000:06:00.0", "vfio-pci");

    const auto found = find();

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::no_device);
    EXPECT_EQ(found.error().message(), "the NVIDIA kernel module is loaded but drives no GPU: "
                                       "GPU 0000:06:00.0: bound to the kernel driver vfio-pci");
    EXPECT_THAT(found.error().hint(), HasSubstr("for virtual machines"));
    pci_.devices.clear();
    const auto none = find();
    EXPECT_EQ(none.error().message(), "the NVIDIA kernel module is loaded but drives no GPU");
    EXPECT_THAT(none.error().hint(), HasSubstr("NVRM"));
}

TEST_F(NvidiaTest, NamesGpusThatOtherDriversHaveBesideIts)
{
    load_module("535.54.03");
    install("535.54.03");
    add_driven_gpu();
    pci_.add("0000:07:00.0", "nouveau");
    pci_.add("0000:08:00.0", "vfio-pci");
    pci_.devices.back().class_code = 0x040300; // its sound

    EXPECT_THAT(unusable_gpus(),
                ::testing::ElementsAre("GPU 0000:07:00.0: bound to the kernel driver nouveau"));
    EXPECT_THAT((*find())->gpus, SizeIs(1));
}

TEST_F(NvidiaTest, NamesGpusThatNoDriverHasBesideItsIfItIsToLookAtTheWholeBus)
{
    load_module("535.54.03");
    install("535.54.03");
    add_driven_gpu();
    pci_.add("0000:07:00.0", "");
    pci_.add("0000:08:00.0", "vfio-pci");
    pci_.add("0000:08:00.1", "");
    pci_.devices.back().class_code = 0x040300; // its sound

    EXPECT_THAT(unusable_gpus(),
                ::testing::ElementsAre("GPU 0000:08:00.0: bound to the kernel driver vfio-pci"));
    EXPECT_EQ(pci_.scans, 0);
    whole_bus_ = true;
    EXPECT_THAT(unusable_gpus(),
                ::testing::ElementsAre("GPU 0000:07:00.0: no kernel driver is bound to it",
                                       "GPU 0000:08:00.0: bound to the kernel driver vfio-pci"));
}

TEST_F(NvidiaTest, NamesTheNodesWithoutWhichNothingWorks)
{
    load_module("535.54.03");
    add_driven_gpu();
    install("535.54.03");

    const auto found = find();

    ASSERT_TRUE(found) << found.error().message();
    std::vector<std::string> missing;
    for (const model::DeviceNode& node : (*found)->missing_nodes)
        missing.push_back(node.path);
    EXPECT_THAT(missing, ::testing::ElementsAre("/dev/nvidiactl", "/dev/nvidia0"));
}

TEST_F(NvidiaTest, MissesNoNodesWithoutAModule)
{
    pci_.add("0000:06:00.0", "");
    install("535.54.03");

    const auto found = find();

    ASSERT_TRUE(found) << found.error().message();
    EXPECT_THAT((*found)->missing_nodes, ::testing::IsEmpty());
}

TEST_F(NvidiaTest, IsItsFilesAloneWithoutAGpu)
{
    install("535.54.03");
    const auto root = tree_.open_driver();

    const auto alone = files_alone({pci_, root, system_.at("proc").parent_path().string(), ""});

    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_EQ(alone->version, "535.54.03");
    EXPECT_EQ(alone->version_source, VersionSource::files);
    EXPECT_THAT(alone->files, SizeIs(1));
    EXPECT_THAT(alone->gpus, SizeIs(0));
    EXPECT_THAT(alone->nodes, SizeIs(0));
    EXPECT_THAT(alone->missing_nodes, SizeIs(0));
}

TEST_F(NvidiaTest, HasItsFilesVersionHoweverThatIsChosen)
{
    install("535.54.03");
    const auto root = tree_.open_driver();
    const auto of = [&](const char* version) {
        return files_alone({pci_, root, system_.at("proc").parent_path().string(), version});
    };

    ASSERT_TRUE(of("535.54.03"));
    EXPECT_EQ(of("535.54.03")->version_source, VersionSource::files) << "no plan is carried out";
    ASSERT_FALSE(of("580.159.04"));
    EXPECT_EQ(of("580.159.04").error().code(), Errc::driver);
}

TEST_F(NvidiaTest, IsNotHereWithoutAFileWhateverVersionIsAskedFor)
{
    const auto root = tree_.open_driver();
    for (const char* version : {"", "580.159.04"}) {
        const auto alone =
            files_alone({pci_, root, system_.at("proc").parent_path().string(), version});

        ASSERT_FALSE(alone);
        EXPECT_EQ(alone.error().code(), Errc::no_device);
    }
    load_module("580.159.04");
    add_driven_gpu();
    EXPECT_EQ(find().error().code(), Errc::driver) << "with a GPU its files are what is missing";
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
