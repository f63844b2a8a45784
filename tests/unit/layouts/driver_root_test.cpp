// SPDX-License-Identifier: MIT
#include "unit/layouts/layout_fixture.hpp"

#include <algorithm>

namespace gpucontainer {
namespace {

/// What NVIDIA's .run file unpacks: one directory, without links.
class UnpackedDriverTest : public LayoutTest {
protected:
    UnpackedDriverTest()
    {
        install_libraries(directory_);
        tree_.tool(directory_ + "/nvidia-smi");
        tree_.tool(directory_ + "/nvidia-installer");
        tree_.library(directory_ + "/libnvidia-egl-gbm.so.1.1.2", "libnvidia-egl-gbm.so.1");
        tree_.library(directory_ + "/libGLX.so.0", "libGLX.so.0");
        tree_.library(directory_ + "/32/libcuda.so.580.159.04", "libcuda.so.1", "Intel 80386",
                      "ELF32");
    }

    const std::string directory_ = "opt/NVIDIA-Linux-x86_64-580.159.04";
};

TEST_F(UnpackedDriverTest, IsADriverRoot)
{
    expect_driver(detected(directory_), "/" + directory_, "/" + directory_ + "/nvidia-smi");
}

TEST_F(UnpackedDriverTest, KeepsWhatHasAVersionOfItsOwn)
{
    const auto driver = detected(directory_);

    const auto gbm = std::find_if(driver.files.begin(), driver.files.end(), [](const auto& file) {
        return file.soname == "libnvidia-egl-gbm.so.1";
    });
    ASSERT_NE(gbm, driver.files.end());
    EXPECT_EQ(gbm->capability, model::Capability::graphics);
    EXPECT_EQ(gbm->path, tree_.at(directory_ + "/libnvidia-egl-gbm.so.1.1.2").string());
}

TEST_F(UnpackedDriverTest, SaysItsVersionWhenTheKernelHasNone)
{
    const auto found = detect(directory_, "");

    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ((*found)->version, version);
    EXPECT_EQ((*found)->version_source, model::VersionSource::files);
}

TEST_F(UnpackedDriverTest, IsRefusedWhenAnotherVersionIsAskedFor)
{
    const auto found = detect(directory_, "575.57.08");

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::driver);
    EXPECT_THAT(found.error().message(),
                ::testing::EndsWith("/libcuda.so.580.159.04 is version 580.159.04, not "
                                    "575.57.08"));
}

class DriverRootTest : public LayoutTest {};

TEST_F(DriverRootTest, IsADirectoryOfLibrariesBesideOneOfPrograms)
{
    install_libraries("opt/driver/lib64");
    link_libraries("opt/driver/lib64");
    tree_.tool("opt/driver/bin/nvidia-smi");

    expect_driver(detected("opt/driver"), "/opt/driver/lib64", "/opt/driver/bin/nvidia-smi");
}

/// A driver container beside a host with leftovers of the very same version.
TEST_F(DriverRootTest, IsADriverContainerWhoseLinksStayInIt)
{
    const std::string container = "run/nvidia/driver";
    const std::string multiarch = "/" + test::multiarch;
    install_libraries(multiarch.substr(1));
    link_libraries(multiarch.substr(1));
    tree_.tool("usr/bin/nvidia-smi");
    install_libraries(container + multiarch);
    tree_.link(container + multiarch + "/libcuda.so.1", "/etc/alternatives/libcuda.so.1");
    tree_.link(container + "/etc/alternatives/libcuda.so.1", multiarch + "/libcuda.so.580.159.04");
    tree_.link(container + "/lib", "/usr/lib");
    tree_.tool(container + "/usr/bin/nvidia-smi");
    tree_.remember("libcuda.so.1", test::multiarch.substr(3) + "/libcuda.so.1");

    const auto driver = detected(container);

    EXPECT_EQ(driver.root, tree_.at(container).string());
    expect_driver(driver, "/" + container + multiarch, "/" + container + "/usr/bin/nvidia-smi");
}

} // namespace
} // namespace gpucontainer
