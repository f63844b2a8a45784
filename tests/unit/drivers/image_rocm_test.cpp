// SPDX-License-Identifier: MIT
#include "drivers/amd/image_rocm.hpp"
#include "drivers/amd/rocblas.hpp"

#include "base/format.hpp"
#include "unit/elf/elf_image.hpp"
#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::drivers::amd {
namespace {

using model::Severity;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* rocm = "/opt/rocm-6.4.1/lib";
constexpr const char* kernels = "/opt/rocm-6.4.1/lib/rocblas/library";

class ImageRocmTest : public ::testing::Test {
protected:
    ImageRocmTest()
    {
        view_.directory("/opt");
        add_gpu("gfx942");
    }

    void add_gpu(const char* architecture)
    {
        model::Gpu gpu;
        gpu.index = static_cast<unsigned>(gpus_.size());
        gpu.architecture = architecture;
        gpus_.push_back(std::move(gpu));
    }

    void add_rocblas(const std::string& directory)
    {
        view_.file(directory + "/librocblas.so.4.4.60401");
        view_.link(directory + "/librocblas.so.4", "librocblas.so.4.4.60401");
    }

    void add_kernels(const std::string& directory, const std::vector<std::string>& targets)
    {
        view_.directory(directory);
        for (const std::string& target : targets) {
            view_.file(base::format("{}/TensileLibrary_lazy_{}.dat", directory, target));
            view_.file(base::format("{}/Kernels.so-000-{}.hsaco", directory, target));
        }
    }

    model::Causes causes() const
    {
        model::Causes causes;
        EXPECT_TRUE(check_container({view_, environment_, loaded_}, driver_, gpus_, causes));
        return causes;
    }

    test::FakeView view_ = test::FakeView::distribution();
    model::DriverStack driver_;
    std::vector<model::Gpu> gpus_;
    std::map<std::string, std::string> environment_;
    std::vector<std::string> loaded_;
};

TEST_F(ImageRocmTest, HasKernelsForTheGpu)
{
    add_rocblas(rocm);
    add_kernels(kernels, {"gfx90a", "gfx942", "gfx1100"});
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageRocmTest, HasKernelsForOthers)
{
    add_rocblas(rocm);
    add_kernels(kernels, {"gfx90a", "gfx1100"});
    model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].stage, model::Stage::code);
    EXPECT_EQ(found[0].finding.evidence, kernels);
    EXPECT_EQ(
        found[0].finding.message(),
        base::format("GPU 0: is a gfx942, for which rocBLAS has no kernels in {}: it has those "
                     "for gfx1100, gfx90a",
                     kernels));
    // A program that loads it by another path needs it; one that loads others may not.
    loaded_ = {"/usr/bin/app", base::format("{}/librocblas.so.4", rocm)};
    EXPECT_EQ(causes().at(0).severity(), Severity::error);
    loaded_ = {"/usr/bin/app"};
    EXPECT_EQ(causes().at(0).severity(), Severity::warning);
    // It cannot be started, and needs rocBLAS all the same.
    test::ElfImage<> program;
    program.add(DT_NEEDED, program.string("librocblas.so.4"));
    view_.file("/usr/bin/app", program.bytes());
    EXPECT_EQ(causes().at(0).severity(), Severity::error);
    // What it needs is not known, or is known to be something else.
    test::ElfImage<> other;
    other.add(DT_NEEDED, other.string("libc.so.6"));
    view_.file("/usr/bin/app", other.bytes());
    EXPECT_EQ(causes().at(0).severity(), Severity::error);
    loaded_.emplace_back("/usr/lib/libc.so.6");
    EXPECT_EQ(causes().at(0).severity(), Severity::warning);
}

TEST_F(ImageRocmTest, HasKernelsForOneOfTwoGpus)
{
    add_gpu("gfx1100");
    add_rocblas(rocm);
    add_kernels(kernels, {"gfx1100"});
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
    EXPECT_EQ(found[0].finding.object, "GPU 0");
}

TEST_F(ImageRocmTest, LacksAllKernels)
{
    add_rocblas(rocm);
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].finding.evidence, kernels);
    // They are elsewhere.
    environment_["ROCBLAS_TENSILE_LIBPATH"] = "/opt/kernels";
    add_kernels("/opt/kernels", {"gfx942"});
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageRocmTest, LooksWhereDistributionsAndPackagesHaveIt)
{
    const std::string debian = "/usr/lib/x86_64-linux-gnu";
    add_rocblas(debian);
    add_kernels(debian + "/rocblas/4.2/library", {"gfx942"});
    loaded_ = {"/usr/bin/app", debian + "/librocblas.so.4"};
    EXPECT_THAT(causes(), IsEmpty());
    const std::string torch = "/usr/lib/python3.12/site-packages/torch/lib";
    view_.file(torch + "/librocblas.so");
    add_kernels(torch + "/rocblas/library", {"gfx1100"});
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].finding.evidence, torch + "/rocblas/library");
    EXPECT_EQ(found[0].severity(), Severity::warning);
}

TEST_F(ImageRocmTest, IsOlderThanTheGpu)
{
    view_.file("/opt/rocm-5.7.1/.info/version", "5.7.1-98\n");
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
    EXPECT_FALSE(found[0].certain);
    EXPECT_EQ(found[0].finding.evidence, "/opt/rocm-5.7.1/.info/version");
    EXPECT_THAT(found[0].finding.message(),
                HasSubstr("GPU 0: is a gfx942, and the container's ROCm 5.7.1 is older than it"));
    view_.file("/opt/rocm-5.7.1/.info/version", "6.4.1-83\n");
    EXPECT_THAT(causes(), IsEmpty());
    view_.file("/opt/rocm-5.7.1/.info/version", "unknown");
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageRocmTest, NamesOfKernelsHaveTheirTarget)
{
    EXPECT_EQ(target_in("Kernels.so-000-gfx90a-xnack+.hsaco"), "gfx90a");
    EXPECT_EQ(target_in("TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_gfx1100.co"), "gfx1100");
    EXPECT_EQ(target_in("Kernels.so-000-gfx11-generic.hsaco"), "gfx11-generic");
    EXPECT_EQ(target_in("TensileManifest.txt"), "");
    EXPECT_EQ(target_in("TensileLibrary_gfx.dat"), "");
    EXPECT_EQ(target_in("gfx"), "");
}

TEST_F(ImageRocmTest, GenericTargetsAreForSeveralArchitectures)
{
    EXPECT_TRUE(runs_on("gfx942", "gfx942"));
    EXPECT_FALSE(runs_on("gfx90a", "gfx942"));
    EXPECT_TRUE(runs_on("gfx11-generic", "gfx1151"));
    EXPECT_TRUE(runs_on("gfx9-4-generic", "gfx942"));
    EXPECT_FALSE(runs_on("gfx9-generic", "gfx942"));
    EXPECT_TRUE(runs_on("gfx13-generic", "gfx1300"));
    EXPECT_FALSE(runs_on("gfx13-generic", "gfx1100"));
}

TEST_F(ImageRocmTest, OverrideOfAnotherFamilyFails)
{
    EXPECT_EQ(overriding_target("10.3.0"), "gfx1030");
    EXPECT_EQ(overriding_target("9.0.10"), "gfx90a");
    for (const char* none : {"", "10.3", "10.3.0.0", "x.3.0", "100.0.0", "gfx1030"})
        EXPECT_EQ(overriding_target(none), "") << none;
    environment_["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].finding.evidence, "HSA_OVERRIDE_GFX_VERSION");
    EXPECT_THAT(found[0].finding.text,
                HasSubstr("programs run code for gfx1030 on GPU 0, a gfx942"));
    environment_["HSA_OVERRIDE_GFX_VERSION"] = "new";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageRocmTest, OverrideWithinAFamilyChangesWhichKernelsCount)
{
    gpus_.clear();
    add_gpu("gfx1031");
    add_rocblas(rocm);
    add_kernels(kernels, {"gfx1030"});
    EXPECT_THAT(causes(), SizeIs(1));
    environment_["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
    EXPECT_THAT(causes(), IsEmpty());
}

} // namespace
} // namespace gpucontainer::drivers::amd
