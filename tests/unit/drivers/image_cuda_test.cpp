// SPDX-License-Identifier: MIT
#include "drivers/nvidia/cuda_fit.hpp"
#include "drivers/nvidia/image_causes.hpp"
#include "drivers/nvidia/image_cuda.hpp"

#include "base/format.hpp"
#include "unit/drivers/gpu_code_image.hpp"
#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Severity;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* packages = "/usr/local/lib/python3.11/site-packages";
constexpr const char* app = "/usr/bin/app";

class ImageCudaTest : public ::testing::Test {
protected:
    ImageCudaTest()
    {
        driver_.version = "535.274.02";
        add_gpu("NVIDIA GeForce RTX 4090", "8.9");
        environment_["PATH"] = "/usr/local/bin:/usr/bin";
        view_.directory("/usr/local/lib/python3.11/site-packages");
    }

    void add_gpu(const char* model, const char* architecture)
    {
        model::Gpu gpu;
        gpu.index = static_cast<unsigned>(driver_.gpus.size());
        gpu.model = model;
        gpu.architecture = architecture;
        driver_.gpus.push_back(std::move(gpu));
    }

    ContainerToCheck container() const { return {view_, environment_, loaded_}; }

    model::Causes causes() const
    {
        model::Causes causes;
        EXPECT_TRUE(check_container(container(), driver_, driver_.gpus, causes));
        return causes;
    }

    /// "VERSION WHAT [EVIDENCE]" of each.
    std::vector<std::string> uses() const
    {
        std::vector<std::string> all;
        for (const CudaUse& use : cuda_uses(container()))
            all.push_back(base::format("{} {} [{}]{}", use.version, use.what, use.evidence,
                                       use.is_loaded ? " loaded" : ""));
        return all;
    }

    void add_torch(const std::string& version)
    {
        view_.file(base::format("{}/torch/version.py", packages),
                   base::format("__version__ = '{}'\n", version));
    }

    test::FakeView view_ = test::FakeView::distribution();
    model::DriverStack driver_;
    std::map<std::string, std::string> environment_;
    std::vector<std::string> loaded_;
};

TEST_F(ImageCudaTest, ToolkitIsToldByFilesAndAVariable)
{
    view_.file("/usr/local/cuda/version.json", R"({"cuda": {"version": "12.4.1"}})");
    view_.file("/usr/local/cuda/version.txt", "CUDA Version 10.2.89\n");
    environment_["CUDA_VERSION"] = "11.8.0";
    EXPECT_THAT(uses(), ::testing::ElementsAre("12.4 CUDA 12.4 [/usr/local/cuda/version.json]",
                                               "10.2 CUDA 10.2.89 [/usr/local/cuda/version.txt]",
                                               "11.8 CUDA 11.8.0 [CUDA_VERSION]"));
    view_.file("/usr/local/cuda/version.json", "[");
    view_.file("/usr/local/cuda/version.txt", "CUDA\n");
    environment_["CUDA_VERSION"] = "new";
    EXPECT_THAT(uses(), IsEmpty());
}

TEST_F(ImageCudaTest, ToolkitIsToldByItsLibraryElse)
{
    view_.file("/usr/local/cuda/lib64/libcudart.so.12.4.127");
    view_.file("/usr/local/cuda/lib64/libcudart.so.12");
    view_.file("/usr/local/cuda/lib64/libcudartx.so.13");
    EXPECT_THAT(uses(), ::testing::ElementsAre("12.4 CUDA 12.4.127 "
                                               "[/usr/local/cuda/lib64/libcudart.so.12.4.127]"));
}

TEST_F(ImageCudaTest, LibraryOfTheProgramTellsWhetherItUsesTheToolkit)
{
    view_.file("/usr/local/cuda/version.json", R"({"cuda": {"version": "12.4.1"}})");
    view_.file("/opt/lib/libcudart.so.12.6.77");
    view_.link("/opt/lib/libcudart.so.12", "libcudart.so.12.6.77");
    loaded_ = {app, "/opt/lib/libcudart.so.12"};
    EXPECT_THAT(uses(),
                ::testing::ElementsAre("12.4 CUDA 12.4 [/usr/local/cuda/version.json] loaded",
                                       "12.6 CUDA 12.6.77 [/opt/lib/libcudart.so.12] loaded"));
    loaded_ = {app, "/opt/torch/lib/libcudart-9335f6a2.so.11.0"};
    EXPECT_THAT(uses(), ::testing::ElementsAre(
                            "12.4 CUDA 12.4 [/usr/local/cuda/version.json]",
                            "11.0 CUDA 11.0 [/opt/torch/lib/libcudart-9335f6a2.so.11.0] loaded"));
}

TEST_F(ImageCudaTest, PackagesOfPythonAndConda)
{
    const auto package = [&](const char* name) {
        view_.directory(base::format("{}/{}", packages, name));
    };
    add_torch("2.5.1+cu124");
    package("jax_cuda12_plugin-0.4.35.dist-info");
    package("cupy_cuda11x-13.3.0.dist-info");
    package("nvidia_cuda_runtime_cu12-12.4.127.dist-info");
    package("tensorflow-2.16.1.dist-info");
    package("tensorflow");
    package("numpy-1.26.0.dist-info");
    view_.file("/opt/conda/conda-meta/cudatoolkit-11.3.1-h2bc3f7f_2.json");
    view_.file("/opt/conda/conda-meta/pytorch-2.1.0-py3.11_cuda12.1_cudnn8.9.2_0.json");
    const std::string at(packages);
    EXPECT_THAT(uses(),
                ::testing::ElementsAre(
                    "12.4 PyTorch 2.5.1+cu124 [" + at + "/torch/version.py]",
                    "12.3 TensorFlow 2.16.1 [" + at + "/tensorflow-2.16.1.dist-info]",
                    "11 CuPy [" + at + "/cupy_cuda11x-13.3.0.dist-info]",
                    "12 JAX [" + at + "/jax_cuda12_plugin-0.4.35.dist-info]",
                    "12.4 Python's package of CUDA's run-time library [" + at
                        + "/nvidia_cuda_runtime_cu12-12.4.127.dist-info]",
                    "11.3 Conda's CUDA [/opt/conda/conda-meta/cudatoolkit-11.3.1-h2bc3f7f_2.json]",
                    "12.1 Conda's PyTorch "
                    "[/opt/conda/conda-meta/pytorch-2.1.0-py3.11_cuda12.1_cudnn8.9.2_0.json]"));
}

TEST_F(ImageCudaTest, FrameworksTellTheirCuda)
{
    EXPECT_EQ(cuda_of_torch("cuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n"), "12.1");
    EXPECT_EQ(cuda_of_torch("__version__ = '2.9.0+cu130'\ncuda = '13.0'\n"), "13.0");
    EXPECT_EQ(cuda_of_torch("__version__ = '1.13.1+cu117'\n"), "11.7");
    EXPECT_EQ(cuda_of_torch("__version__ = '1.1.0+cu92'\n"), "9.2");
    EXPECT_EQ(cuda_of_torch("__version__ = '2.5.1+cpu'\ncuda = None\n"), "");
    EXPECT_EQ(cuda_of_torch("__version__ = '2.5.1+rocm6.2'\ncuda: Optional[str] = None\n"), "");
    EXPECT_EQ(cuda_of_torch("cuda = 'x'\n"), "");
    EXPECT_EQ(cuda_of_torch("cuda = '12.1\n"), "");
    EXPECT_EQ(cuda_of_torch(""), "");
    EXPECT_EQ(cuda_of_tensorflow("collections.OrderedDict([('cuda_version', '12.5.1'), ('x', 1)])"),
              "12.5.1");
    EXPECT_EQ(cuda_of_tensorflow("cuda_version_number = '10.1'\n"), "10.1");
    EXPECT_EQ(cuda_of_tensorflow("is_cuda_build': False"), "");
    EXPECT_EQ(cuda_of_tensorflow("'cuda_version': '', 'cudnn_version': '9'"), "");
    EXPECT_EQ(cuda_of_tensorflow("cuda_version"), "");
}

TEST_F(ImageCudaTest, DriverRunsAllOfItsMajorRelease)
{
    const auto too_old = [](const char* version, const char* cuda, const char* own = "") {
        model::DriverStack driver;
        driver.version = version;
        return is_too_old(driver, cuda, own);
    };
    EXPECT_FALSE(too_old("535.274.02", "12.2"));
    EXPECT_FALSE(too_old("535.274.02", "12.9"));
    EXPECT_FALSE(too_old("525.60.13", "12"));
    EXPECT_FALSE(too_old("535.274.02", "11.8"));
    EXPECT_TRUE(too_old("535.274.02", "13.0"));
    EXPECT_TRUE(too_old("535.274.02", "13"));
    EXPECT_FALSE(too_old("580.65.06", "13.3"));
    EXPECT_TRUE(too_old("520.61.05", "12.0"));
    // Before CUDA 11 a driver runs no later minor release; 450.36.06 none but 11.0.
    EXPECT_TRUE(too_old("410.48", "10.1"));
    EXPECT_TRUE(too_old("450.36.06", "11.2"));
    EXPECT_FALSE(too_old("450.80.02", "11.2"));
    // Drivers that are not known, or newer than all that are.
    EXPECT_FALSE(too_old("unknown", "13.0"));
    EXPECT_FALSE(too_old("999.1", "99.0"));
    // Linux for Tegra.
    EXPECT_FALSE(too_old("36.4.0", "12.8"));
    EXPECT_TRUE(too_old("36.4.0", "13.0"));
    // With the image's own user space of a newer driver.
    EXPECT_FALSE(too_old("535.274.02", "13.0", "13.0"));
    EXPECT_FALSE(too_old("535.274.02", "13.1", "13.0"));
    EXPECT_TRUE(too_old("535.274.02", "13.0", "12.9"));
    EXPECT_EQ(driver_for_cuda("13.1"), "580.65.06");
    EXPECT_EQ(driver_for_cuda("10.1"), "418");
    EXPECT_EQ(driver_for_cuda("99.0"), "");
}

TEST_F(ImageCudaTest, TooNewForTheDriver)
{
    view_.file("/usr/local/cuda/version.json", R"({"cuda": {"version": "13.0.1"}})");
    environment_["CUDA_VERSION"] = "13.0.1";
    loaded_ = {app, "/usr/local/cuda/lib64/libcudart.so.13"};
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].finding.code, FindingCode::driver_too_old);
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].stage, model::Stage::init);
    EXPECT_EQ(found[0].finding.evidence, "/usr/local/cuda/version.json");
    EXPECT_THAT(found[0].finding.message(),
                HasSubstr("CUDA 13.0: is for CUDA 13.0, which needs driver 580.65.06 or later; the "
                          "host's is 535.274.02, for CUDA 12.2"));
    EXPECT_EQ(found[0].finding.hint, "update the host's driver, or use an image for CUDA 12.x");
}

TEST_F(ImageCudaTest, CanBeHelpedOnGpusOfDataCentres)
{
    driver_.gpus.clear();
    add_gpu("NVIDIA A100-SXM4-80GB", "8.0");
    environment_["CUDA_VERSION"] = "13.0.1";
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].finding.evidence, "CUDA_VERSION");
    EXPECT_THAT(found[0].finding.hint, HasSubstr("or install cuda-compat-13-0 in the image"));

    view_.file("/usr/local/cuda/compat/libcuda.so.580.65.06");
    view_.link("/usr/local/cuda/compat/libcuda.so.1",
               "/usr/local/cuda/compat/libcuda.so.580.65.06");
    EXPECT_THAT(causes(), IsEmpty());
    model::Causes without;
    ContainerToCheck never = container();
    never.may_use_own_driver = false;
    EXPECT_TRUE(check_container(never, driver_, driver_.gpus, without));
    EXPECT_THAT(without, SizeIs(1));
}

TEST_F(ImageCudaTest, WheelThatTheProgramLoadsCounts)
{
    add_torch("2.9.0+cu130");
    view_.file("/usr/local/cuda/lib64/libcudart.so.12.4.127");
    loaded_ = {app, base::format("{}/torch/lib/libtorch_cuda.so", packages),
               "/usr/local/cuda/lib64/libcudart.so.12.4.127"};
    model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].finding.evidence, base::format("{}/torch/version.py", packages));
    EXPECT_EQ(found[0].finding.object, "PyTorch 2.9.0+cu130");

    // Not loaded, it may be what is not used.
    loaded_ = {app, "/usr/local/cuda/lib64/libcudart.so.12.4.127"};
    found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
    // It is all there is.
    view_.remove("/usr/local/cuda/lib64/libcudart.so.12.4.127");
    loaded_ = {"/usr/bin/python3.11"};
    found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
}

TEST_F(ImageCudaTest, SaysOnceWhatSeveralShow)
{
    add_torch("2.9.0+cu130");
    view_.directory(base::format("{}/nvidia_cuda_runtime-13.0.48.dist-info", packages));
    view_.directory(base::format("{}/jax_cuda13_plugin-0.7.dist-info", packages));
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].finding.text, HasSubstr("; the same is true of JAX, Python's package"));
}

TEST_F(ImageCudaTest, NamesOfHostileImagesAreNotShown)
{
    add_torch("2.9\x1b[31m");
    view_.file(base::format("{}/torch/version.py", packages),
               "__version__ = '2.9\x1b[31m'\ncuda = '13.0'\n");
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].finding.object, "PyTorch");
}

class ImageCodeTest : public ImageCudaTest {
protected:
    ImageCodeTest()
    {
        driver_.version = "580.159.04";
        driver_.gpus.clear();
        add_gpu("NVIDIA GeForce RTX 5090", "12.0");
        loaded_ = {app};
    }

    void add_file(const std::string& path, const std::string& code)
    {
        view_.file(path, test::library_with_code(code));
    }

    static std::string torch_library()
    {
        return base::format("{}/torch/lib/libtorch_cuda.so", packages);
    }
};

TEST_F(ImageCodeTest, ProgramWithoutCodeForTheGpu)
{
    add_file(app, test::code_for({80, 86, 90}));
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].stage, model::Stage::code);
    EXPECT_EQ(found[0].finding.evidence, app);
    EXPECT_EQ(
        found[0].finding.message(),
        "GPU 0 (NVIDIA GeForce RTX 5090): is of compute capability 12.0, and /usr/bin/app has "
        "code for sm_80, sm_86, sm_90 alone");
}

TEST_F(ImageCodeTest, OldGpuThatNothingIsTranslatedFor)
{
    driver_.gpus.clear();
    add_gpu("NVIDIA GeForce GTX 1080", "6.1");
    add_file(app, test::code_for({75, 90}, {90}));
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].finding.text,
                HasSubstr("has code for sm_75, sm_90 and PTX for compute_90 alone"));
}

TEST_F(ImageCodeTest, FrameworkCountsEvenIfOtherLibrariesHaveCode)
{
    add_file(torch_library(), test::code_for({80, 90}));
    add_file("/usr/lib/libcublas.so.12", test::code_for({90, 120}));
    loaded_ = {app, torch_library(), "/usr/lib/libcublas.so.12"};
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].finding.evidence, torch_library());
}

TEST_F(ImageCodeTest, LibraryForOtherGpusIsNoFault)
{
    add_file(app, test::code_for({120}));
    add_file("/usr/lib/libspecial.so", test::code_for({90}));
    loaded_.emplace_back("/usr/lib/libspecial.so");
    EXPECT_THAT(causes(), IsEmpty());
    // It is one if nothing else has code.
    view_.remove(app);
    EXPECT_THAT(causes(), SizeIs(1));
}

TEST_F(ImageCodeTest, FrameworkThatIsNotLoadedMayNotBeUsed)
{
    add_file(torch_library(), test::code_for({80, 90}));
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
}

TEST_F(ImageCodeTest, TranslationIsARemark)
{
    add_file(torch_library(), test::code_for({80, 90}, {90}));
    loaded_.push_back(torch_library());
    model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::note);
    EXPECT_THAT(found[0].finding.text, HasSubstr("the first start takes long"));
    environment_["CUDA_DISABLE_PTX_JIT"] = "1";
    found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
}

TEST_F(ImageCodeTest, ForcedTranslationNeedsSomethingToTranslate)
{
    add_file(app, test::code_for({120}));
    EXPECT_THAT(causes(), IsEmpty());
    environment_["CUDA_FORCE_PTX_JIT"] = "1";
    EXPECT_THAT(causes(), SizeIs(1));
}

TEST_F(ImageCodeTest, OneOfTwoKindsOfGpus)
{
    add_gpu("NVIDIA H100", "9.0");
    add_file(app, test::code_for({90}));
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].blocks, Blocks::some);
    EXPECT_THAT(found[0].finding.object, HasSubstr("RTX 5090"));
}

TEST_F(ImageCodeTest, UnknownIsNoFault)
{
    add_file(app, test::code_container(test::code_entry(test::machine_code, 90)
                                       + test::code_entry(64, 90)));
    EXPECT_THAT(causes(), IsEmpty());
    add_file(app, test::code_for({90}));
    driver_.gpus[0].architecture = "";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(ImageCodeTest, DriversOwnCodeDoesNotCount)
{
    add_file("/usr/lib/gpuctr/libcuda.so.1", test::code_for({50}));
    loaded_ = {app, "/usr/lib/gpuctr/libcuda.so.1"};
    model::DriverFile file;
    file.soname = "libcuda.so.1";
    driver_.files.push_back(file);
    EXPECT_THAT(causes(), IsEmpty());
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
