// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/amd/amd.hpp"

#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::drivers::amd {

using model::DriverStack;

namespace {

using simhost::ElfStub;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// A host with one GPU, and ROCm in a tree that a test builds.
class AmdUserSpace : public ::testing::Test {
protected:
    AmdUserSpace()
    {
        system_.directory("sys/module/amdgpu");
        system_.file("sys/module/amdgpu/version", "6.12.12\n");
        system_.file("sys/class/kfd/kfd/topology/nodes/1/properties",
                     "simd_count 304\ndrm_render_minor 128\n");
        tree_.directory("usr");
    }

    void library(const std::string& path, const std::string& soname,
                 std::vector<std::string> needed = {}, const std::string& runpath = "")
    {
        ElfStub stub;
        stub.soname = soname;
        stub.needed = std::move(needed);
        stub.runpath = runpath;
        tree_.elf(path, stub);
    }

    /// A release as AMD's packages have it.
    void release(const std::string& directory, const std::string& hip)
    {
        library(directory + "/lib/libhsa-runtime64.so.1", "libhsa-runtime64.so.1",
                {"librocprofiler-register.so.0", "libdrm_amdgpu.so.1"});
        library(directory + "/lib/librocprofiler-register.so.0", "librocprofiler-register.so.0");
        library(directory + "/lib/" + hip, hip, {"libhsa-runtime64.so.1"});
        library(directory + "/lib/libamd_comgr.so.3", "libamd_comgr.so.3");
        library(directory + "/lib/libamdocl64.so", "libamdocl64.so", {"libamd_comgr.so.3"});
        library(directory + "/lib/librocblas.so.4", "librocblas.so.4", {hip});
        tree_.tool(directory + "/bin/rocminfo");
        tree_.file(directory + "/bin/rocm-smi", "#!/usr/bin/env python3\n");
    }

    DriverStack detected()
    {
        const auto root = tree_.open_driver();
        auto stack = detect({devices_, root, system_.at("sys").parent_path().string(), "", {}, ""});
        EXPECT_TRUE(stack) << stack.error().message();
        return stack && *stack ? **std::move(stack) : DriverStack();
    }

    /// Paths of all files, those of neutral ones in brackets.
    std::vector<std::string> found()
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : detected().files) {
            const std::string path = file.path.substr(tree_.prefix().size());
            all.push_back(file.precedence == model::Precedence::image ? base::format("[{}]", path)
                                                                      : path);
        }
        return all;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator devices_;
};

TEST_F(AmdUserSpace, IsOneReleaseWithWhatItIsLinkedTo)
{
    release("opt/rocm-6.4.1", "libamdhip64.so.6");
    release("opt/rocm-5.7.0", "libamdhip64.so.5");
    tree_.link("opt/rocm", "rocm-6.4.1");
    library("usr/lib/libdrm_amdgpu.so.1", "libdrm_amdgpu.so.1");

    EXPECT_THAT(found(),
                ::testing::UnorderedElementsAre(
                    "/opt/rocm-6.4.1/lib/libamd_comgr.so.3", "/opt/rocm-6.4.1/lib/libamdhip64.so.6",
                    "/opt/rocm-6.4.1/lib/libamdocl64.so", "[/usr/lib/libdrm_amdgpu.so.1]",
                    "/opt/rocm-6.4.1/lib/libhsa-runtime64.so.1",
                    "/opt/rocm-6.4.1/lib/librocprofiler-register.so.0",
                    "/opt/rocm-6.4.1/bin/rocminfo"));
}

TEST_F(AmdUserSpace, IsFoundWithItsPrivateCopiesOfSystemLibraries)
{
    library("opt/rocm/core-7.9/lib/libhsa-runtime64.so.1", "libhsa-runtime64.so.1",
            {"librocm_sysdeps_elf.so.1"}, "$ORIGIN:$ORIGIN/rocm_sysdeps/lib");
    library("opt/rocm/core-7.9/lib/rocm_sysdeps/lib/librocm_sysdeps_elf.so.1",
            "librocm_sysdeps_elf.so.1");
    library("opt/rocm/core-7.9/lib/libamdhip64.so.7", "libamdhip64.so.7", {"libhsa-runtime64.so.1"},
            "$ORIGIN");

    EXPECT_THAT(found(),
                IsSupersetOf({"/opt/rocm/core-7.9/lib/libhsa-runtime64.so.1",
                              "/opt/rocm/core-7.9/lib/libamdhip64.so.7",
                              "/opt/rocm/core-7.9/lib/rocm_sysdeps/lib/librocm_sysdeps_elf.so.1"}));
}

TEST_F(AmdUserSpace, MayBeTheDistributions)
{
    library("usr/lib/libhsa-runtime64.so.1.5.0", "libhsa-runtime64.so.1", {"libhsakmt.so.1"},
            "$ORIGIN");
    tree_.link("usr/lib/libhsa-runtime64.so.1", "libhsa-runtime64.so.1.5.0");
    library("usr/lib/libhsakmt.so.1", "libhsakmt.so.1");
    library("usr/lib/libamdhip64.so.5", "libamdhip64.so.5", {"libhsa-runtime64.so.1"});
    library("usr/lib/libamd_comgr.so.2", "libamd_comgr.so.2", {"libLLVM-15.so.1"});
    library("usr/lib/libLLVM-15.so.1", "libLLVM-15.so.1");
    tree_.remember("libhsa-runtime64.so.1", "/usr/lib/libhsa-runtime64.so.1");
    tree_.remember("libhsakmt.so.1", "/usr/lib/libhsakmt.so.1");
    tree_.remember("libamdhip64.so.5", "/usr/lib/libamdhip64.so.5");
    tree_.remember("libamd_comgr.so.2", "/usr/lib/libamd_comgr.so.2");
    tree_.remember("libLLVM-15.so.1", "/usr/lib/libLLVM-15.so.1");
    tree_.file("usr/share/libdrm/amdgpu.ids", "1.0.0\n");

    EXPECT_THAT(found(), ::testing::UnorderedElementsAre(
                             "/usr/lib/libamd_comgr.so.2", "/usr/lib/libamdhip64.so.5",
                             "/usr/lib/libhsa-runtime64.so.1.5.0", "/usr/lib/libhsakmt.so.1",
                             "[/usr/lib/libLLVM-15.so.1]", "/usr/share/libdrm/amdgpu.ids"));
}

TEST_F(AmdUserSpace, TellsAnImagesOwnByItsMainLibraries)
{
    release("opt/rocm", "libamdhip64.so.6");
    library("usr/lib/libdrm_amdgpu.so.1", "libdrm_amdgpu.so.1");

    const DriverStack stack = detected();
    std::vector<std::string> own;
    std::vector<std::string> by_opencl;
    for (const model::DriverFile& file : stack.files) {
        if (file.precedence == model::Precedence::runtime)
            own.push_back(file.soname);
        if (const auto* const icd = file.registered(model::Manner::opencl_icd))
            by_opencl.push_back(file.soname + " " + *icd);
    }

    EXPECT_TRUE(stack.optional_files);
    EXPECT_THAT(own, ElementsAre("libamdhip64.so.6", "libhsa-runtime64.so.1"));
    EXPECT_THAT(by_opencl, ElementsAre("libamdocl64.so amdocl64.icd"));
}

TEST_F(AmdUserSpace, IsLeftOutWithWhatLacksItsLibraries)
{
    release("opt/rocm", "libamdhip64.so.6"); // no libdrm_amdgpu

    EXPECT_THAT(found(), Not(Contains(StartsWith("/opt/rocm/lib/libamdhip64"))));
}

TEST_F(AmdUserSpace, HasVariablesThatNoOtherMakerMayHave)
{
    const DriverStack driver = detected();

    EXPECT_THAT(driver.visible_devices, SizeIs(5));
    EXPECT_THAT(test::unnamed_variables(driver), IsEmpty());
}

TEST_F(AmdUserSpace, NeedNotBeThere)
{
    const DriverStack stack = detected();

    EXPECT_THAT(stack.files, IsEmpty());
    EXPECT_EQ(stack.gpus.size(), 1U);
    EXPECT_EQ(stack.version, "6.12.12");
    EXPECT_EQ(stack.version_source, model::VersionSource::module);
    EXPECT_EQ(stack.missing_nodes.size(), 2U);
    EXPECT_THAT(stack.findings,
                Contains(::testing::Field(&model::Finding::object, "libhsa-runtime64.so")));
}

} // namespace
} // namespace gpucontainer::drivers::amd
