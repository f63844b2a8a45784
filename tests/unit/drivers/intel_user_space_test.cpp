// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/intel/intel.hpp"

#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::drivers {

using model::DriverFile;
using model::DriverStack;

namespace {

using simhost::ElfStub;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// A host with one GPU or accelerator, and user space in a tree that a test builds.
class IntelUserSpaceTest : public ::testing::Test {
protected:
    const std::string lib = test::multiarch + "/";

    IntelUserSpaceTest()
    {
        for (const char* module : {"i915", "habanalabs"})
            system_.directory(base::format("sys/module/{}", module));
        system_.file("proc/sys/kernel/osrelease", "6.8.0\n");
        devices_.parts["drm"] = {{"renderD128", "/dev/dri/renderD128", 226, 128, "0000:03:00.0",
                                  "i915", "0000:03:00.0"}};
        devices_.parts["accel"] = {
            {"accel0", "/dev/accel/accel0", 261, 0, "0000:33:00.0", "habanalabs", "0000:33:00.0"}};
        tree_.directory("usr");
    }

    void library(const std::string& path, const std::string& soname,
                 std::vector<std::string> needed = {})
    {
        ElfStub stub;
        stub.soname = soname;
        stub.needed = std::move(needed);
        tree_.elf(path, stub);
    }

    /// As Debian's packages have it.
    void install()
    {
        library(lib + std::string("libze_loader.so.1"), "libze_loader.so.1", {"libstdc++.so.6"});
        library(lib + std::string("libze_intel_gpu.so.1"), "libze_intel_gpu.so.1",
                {"libigdgmm.so.12", "libstdc++.so.6"});
        library(lib + std::string("intel-opencl/libigdrcl.so"), "libigdrcl.so",
                {"libigdgmm.so.12"});
        library(lib + std::string("libigdgmm.so.12"), "libigdgmm.so.12");
        library(lib + std::string("libigc.so.1"), "libigc.so.1", {"libLLVM-14.so.1"});
        library(lib + std::string("libigdfcl.so.1"), "libigdfcl.so.1",
                {"libopencl-clang.so.14", "libLLVM-14.so.1"});
        library(lib + std::string("libopencl-clang.so.14"), "libopencl-clang.so.14");
        library(lib + std::string("libLLVM-14.so.1"), "libLLVM-14.so.1");
        library(lib + std::string("libstdc++.so.6"), "libstdc++.so.6");
        library(lib + std::string("dri/iHD_drv_video.so"), "iHD_drv_video.so", {"libigdgmm.so.12"});
        library(lib + std::string("dri/radeonsi_drv_video.so"), "radeonsi_drv_video.so");
    }

    DriverStack detected(Result<std::optional<DriverStack>> (*detect)(const Sources&))
    {
        const auto root = tree_.open_driver();
        auto stack = detect({devices_, root, system_.at("sys").parent_path().string(), "", {}, ""});
        EXPECT_TRUE(stack) << stack.error().message();
        return stack && *stack ? **std::move(stack) : DriverStack();
    }

    static std::vector<std::string> sonames(const DriverStack& driver, bool neutral)
    {
        std::vector<std::string> all;
        for (const DriverFile& file : driver.files)
            if ((file.precedence == model::Precedence::image) == neutral)
                all.push_back(file.soname.empty() ? file.name : file.soname);
        return all;
    }

    /// What findings are about.
    static std::vector<std::string> objects(const DriverStack& driver)
    {
        std::vector<std::string> all;
        for (const model::Finding& finding : driver.findings)
            all.push_back(finding.object);
        return all;
    }

    static DriverFile file(const DriverStack& driver, std::string_view soname)
    {
        for (const DriverFile& file : driver.files)
            if (file.soname == soname)
                return file;
        ADD_FAILURE() << "no " << soname;
        return {};
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator devices_;
};

TEST_F(IntelUserSpaceTest, IsOneSetWithItsCompilers)
{
    install();

    const DriverStack driver = detected(intel::detect);

    EXPECT_TRUE(driver.optional_files);
    EXPECT_THAT(sonames(driver, false),
                UnorderedElementsAre("libze_loader.so.1", "libze_intel_gpu.so.1", "libigdrcl.so",
                                     "libigdgmm.so.12", "libigc.so.1", "libigdfcl.so.1",
                                     "libopencl-clang.so.14", "iHD_drv_video.so"));
    EXPECT_THAT(sonames(driver, true), UnorderedElementsAre("libLLVM-14.so.1", "libstdc++.so.6"));
    const auto ocl = file(driver, "libigdrcl.so");
    ASSERT_NE(ocl.registered(model::Manner::opencl_icd), nullptr);
    EXPECT_EQ(*ocl.registered(model::Manner::opencl_icd), "intel.icd");
    EXPECT_EQ(ocl.precedence, model::Precedence::runtime);
    EXPECT_EQ(file(driver, "libze_intel_gpu.so.1").precedence, model::Precedence::runtime);
    EXPECT_NE(file(driver, "libze_loader.so.1").precedence, model::Precedence::runtime);
    EXPECT_EQ(file(driver, "iHD_drv_video.so").capability, model::Capability::video);
}

TEST_F(IntelUserSpaceTest, NeedNotBeInstalled)
{
    for (auto* const detect : {intel::detect, habana::detect}) {
        const DriverStack driver = detected(detect);
        EXPECT_THAT(driver.files, IsEmpty());
        EXPECT_EQ(driver.gpus.size(), 1U);
        const std::string entry = detect == intel::detect ? "libze_loader.so.1" : "libSynapse.so";
        EXPECT_THAT(objects(driver), ::testing::Contains(entry));
    }
}

TEST_F(IntelUserSpaceTest, LeavesOutWhatLacksACompiler)
{
    install();
    std::filesystem::remove(tree_.at(lib + std::string("libLLVM-14.so.1")));

    const DriverStack driver = detected(intel::detect);

    const auto found = sonames(driver, false);
    EXPECT_THAT(found, ::testing::Not(::testing::Contains("libigc.so.1")));
    EXPECT_THAT(found, ::testing::Contains("libze_intel_gpu.so.1"));
    EXPECT_THAT(objects(driver), ::testing::Contains("libigc.so.1"));
}

TEST_F(IntelUserSpaceTest, LiesInADirectoryOfItsOwnForGaudi)
{
    const std::string own = "usr/lib/habanalabs/";
    library(own + "libSynapse.so", "libSynapse.so", {"libhl-thunk.so", "libhl_logger.so"});
    library(own + "libhl-thunk.so", "libhl-thunk.so");
    library(own + "libhl_logger.so", "libhl_logger.so");
    library(own + "libtpc_kernels.so", "libtpc_kernels.so");
    tree_.tool("usr/bin/hl-smi");

    const DriverStack driver = detected(habana::detect);

    EXPECT_THAT(sonames(driver, false),
                UnorderedElementsAre("libSynapse.so", "libhl-thunk.so", "libhl_logger.so",
                                     "libtpc_kernels.so", "hl-smi"));
    EXPECT_THAT(driver.image_directories, ElementsAre("/usr/lib/habanalabs"));
    EXPECT_EQ(file(driver, "libSynapse.so").precedence, model::Precedence::runtime);
}

} // namespace
} // namespace gpucontainer::drivers
