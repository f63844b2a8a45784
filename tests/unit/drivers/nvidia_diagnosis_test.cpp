// SPDX-License-Identifier: MIT
#include "drivers/nvidia/diagnosis.hpp"

#include "base/format.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <sys/utsname.h>
#include <utility>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Severity;
using model::Stage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* version = "580.159.04";
constexpr std::uint16_t of_pascal = 0x1b80;
constexpr std::uint16_t of_nobody_knows = 0xfff0;

class NvidiaDiagnosisTest : public ::testing::Test {
protected:
    NvidiaDiagnosisTest()
    {
        stack_.vendor = "nvidia";
        stack_.vendor_name = "NVIDIA";
        stack_.version = version;
        stack_.library_directory = "/usr/lib";
        for (const char* soname : {"libcuda.so.1", "libnvidia-ptxjitcompiler.so.1"})
            stack_.files.emplace_back().soname = soname;
        stack_.nodes = {node("/dev/nvidiactl"), node("/dev/nvidia-uvm")};
    }

    static model::DeviceNode node(const std::string& path)
    {
        model::DeviceNode made;
        made.path = made.host_path = path;
        made.accessible = true;
        return made;
    }

    void load(const std::string& loaded = version, const char* flavour = "x86_64 Kernel Module")
    {
        system_.file("sys/module/nvidia/version", loaded + "\n");
        system_.file("proc/driver/nvidia/version",
                     base::format("NVRM version: NVIDIA UNIX {}  {}  Release\n", flavour, loaded));
        system_.file("proc/devices",
                     "Character devices:\n195 nvidia\n238 nvidia-uvm\n\nBlock devices:\n");
        system_.file("proc/sys/kernel/osrelease", release_);
        system_.file("proc/1/comm", "systemd\n");
    }

    /// A GPU that the module lists.
    void gpu(const std::string& address, const std::string& excluded = "No")
    {
        const auto minor = static_cast<unsigned>(stack_.gpus.size());
        pci_.add(address, "nvidia");
        system_.file(base::format("proc/driver/nvidia/gpus/{}/information", address),
                     base::format("Device Minor: \t {}\nGPU Excluded:\t {}\n", minor, excluded));
        model::Gpu& gpu = stack_.gpus.emplace_back();
        gpu.index = minor;
        gpu.minor = static_cast<int>(minor);
        gpu.pci_address = address;
    }

    /// One that another driver has, or none.
    void other(const std::string& address, const std::string& driver, std::uint16_t device = 0x2335)
    {
        pci_.add(address, driver);
        pci_.devices.back().device_id = device;
    }

    model::Causes causes(bool is_detected = true)
    {
        model::Causes found;
        const auto root = tree_.open_driver();
        const Sources sources = {pci_, root, system_.at("sys").parent_path().string(), "", {}, ""};
        const auto done = add_host_causes(sources, is_detected ? &stack_ : nullptr, found);
        EXPECT_TRUE(done) << done.error().message();
        return found;
    }

    std::vector<std::string> evidence(bool is_detected = true)
    {
        std::vector<std::string> paths;
        for (const Cause& cause : causes(is_detected))
            paths.push_back(cause.finding.evidence);
        return paths;
    }

    Cause only_one(bool is_detected = true)
    {
        auto found = causes(is_detected);
        EXPECT_THAT(found, SizeIs(1));
        return found.empty() ? Cause() : std::move(found.front());
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator pci_;
    model::DriverStack stack_;
    std::string release_ = "6.1.0-25-amd64\n";
};

TEST_F(NvidiaDiagnosisTest, AHealthyHostHasNoCause)
{
    load();
    gpu("0000:06:00.0");

    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NvidiaDiagnosisTest, WithoutTheModuleNothingDrivesTheGpus)
{
    other("0000:06:00.0", "");
    other("0000:07:00.0", "");

    const Cause cause = only_one(false);
    EXPECT_EQ(cause.finding.code, FindingCode::driver_not_loaded);
    EXPECT_EQ(cause.finding.evidence, "/sys/bus/pci/devices/0000:06:00.0/driver");
    EXPECT_EQ(cause.stage, Stage::module);
    EXPECT_EQ(cause.severity(), Severity::error);
}

TEST_F(NvidiaDiagnosisTest, AnotherDriverMayHaveThem)
{
    other("0000:06:00.0", "nouveau");

    EXPECT_THAT(only_one(false).finding.text, HasSubstr("nouveau has the GPU"));
    EXPECT_THAT(only_one(false).finding.hint, HasSubstr("blacklist nouveau"));
}

TEST_F(NvidiaDiagnosisTest, AGpuOfAVirtualMachineIsNotForPrograms)
{
    load();
    gpu("0000:06:00.0");
    other("0000:07:00.0", "vfio-pci");

    const Cause cause = only_one();
    EXPECT_EQ(cause.finding.message(), "GPU 0000:07:00.0: the kernel driver vfio-pci keeps it for "
                                       "a virtual machine");
    EXPECT_EQ(cause.stage, Stage::bus);
    EXPECT_EQ(cause.blocks, Blocks::some);
}

TEST_F(NvidiaDiagnosisTest, VirtualFunctionsAreNotMissed)
{
    load();
    gpu("0000:06:00.0");
    other("0000:06:00.4", "vfio-pci");
    other("0000:06:01.0", "");
    system_.link("sys/bus/pci/devices/0000:06:01.0/physfn", "../0000:06:00.0");

    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NvidiaDiagnosisTest, ABranchMayNoLongerKnowABoard)
{
    load("595.71.05");
    stack_.version = "595.71.05";
    gpu("0000:06:00.0");
    other("0000:07:00.0", "", of_pascal);

    EXPECT_THAT(only_one().finding.text, HasSubstr("no longer knows the board"));
    EXPECT_EQ(only_one().finding.evidence, "/sys/bus/pci/devices/0000:07:00.0/device");
    EXPECT_EQ(only_one().finding.hint, "install a driver before 590");
}

TEST_F(NvidiaDiagnosisTest, TheOpenModuleDrivesNewerBoardsAlone)
{
    load(version, "Open Kernel Module for x86_64");
    gpu("0000:06:00.0");
    other("0000:07:00.0", "", of_pascal);

    EXPECT_THAT(only_one().finding.text, HasSubstr("the open one"));
}

TEST_F(NvidiaDiagnosisTest, OfABoardThatTheTablesLackTheKernelsLogTells)
{
    load();
    gpu("0000:06:00.0");
    other("0000:07:00.0", "", of_nobody_knows);

    EXPECT_EQ(only_one().finding.evidence, "/sys/bus/pci/devices/0000:07:00.0/driver");
    EXPECT_THAT(only_one().finding.hint, HasSubstr("kernel's log"));
}

TEST_F(NvidiaDiagnosisTest, AGpuCanBeExcluded)
{
    load();
    gpu("0000:06:00.0");
    gpu("0000:07:00.0", "Yes");

    EXPECT_EQ(only_one().finding.code, FindingCode::gpu_excluded);
    EXPECT_EQ(only_one().finding.evidence, "/proc/driver/nvidia/gpus/0000:07:00.0/information");
    EXPECT_EQ(only_one().blocks, Blocks::some);
}

TEST_F(NvidiaDiagnosisTest, OnlyAGpuThatIsAwakeIsAskedWhetherItAnswers)
{
    load();
    gpu("0000:06:00.0");
    gpu("0000:07:00.0");
    const std::string function = "sys/bus/pci/devices/0000:07:00.0";
    system_.file(function + "/config", std::string(64, '\xff'));
    system_.file(function + "/power/runtime_status", "suspended\n");
    EXPECT_THAT(causes(), IsEmpty());

    system_.file(function + "/power/runtime_status", "active\n");
    EXPECT_EQ(only_one().finding.code, FindingCode::gpu_off_bus);
    EXPECT_EQ(only_one().finding.evidence, "/sys/bus/pci/devices/0000:07:00.0/config");
}

TEST_F(NvidiaDiagnosisTest, WithoutAnyUsableGpuAllProgramsStop)
{
    load();
    gpu("0000:06:00.0", "Yes");

    EXPECT_EQ(only_one(false).severity(), Severity::error);
    EXPECT_TRUE(explains_failure(only_one(false)));
}

TEST_F(NvidiaDiagnosisTest, UnifiedMemoryNeedsAModuleAndItsNode)
{
    load();
    gpu("0000:06:00.0");
    stack_.nodes.pop_back();
    EXPECT_EQ(only_one().finding.evidence, "/dev/nvidia-uvm");
    EXPECT_EQ(only_one().stage, Stage::init);
    EXPECT_EQ(only_one().severity(), Severity::error);

    system_.file("proc/devices", "Character devices:\n195 nvidia\n");
    EXPECT_THAT(only_one().finding.hint, HasSubstr("modprobe nvidia-uvm"));

    stack_.missing_nodes = {node("/dev/nvidia-uvm")};
    stack_.missing_nodes.front().problem = "is another device";
    EXPECT_THAT(causes(), IsEmpty()) << "a wrong number is told with the nodes";
}

TEST_F(NvidiaDiagnosisTest, ANodeOfUnifiedMemoryThatCanBeMadeIsMended)
{
    load();
    gpu("0000:06:00.0");
    stack_.nodes.pop_back();
    stack_.missing_nodes = {node("/dev/nvidia-uvm")};
    stack_.missing_nodes.front().makeable = true;

    EXPECT_EQ(only_one().severity(), Severity::note);
}

TEST_F(NvidiaDiagnosisTest, ModeSettingNeedsItsNode)
{
    load();
    gpu("0000:06:00.0");
    system_.file("proc/devices", "Character devices:\n195 nvidia-modeset\n238 nvidia-uvm\n");

    EXPECT_EQ(only_one().finding.evidence, "/dev/nvidia-modeset");
    EXPECT_EQ(only_one().finding.capability, model::Capability::graphics);
    stack_.nodes.push_back(node("/dev/nvidia-modeset"));
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NvidiaDiagnosisTest, SwitchesNeedTheFabricManager)
{
    load();
    gpu("0000:06:00.0");
    stack_.nodes.push_back(node("/dev/nvidia-nvswitchctl"));

    EXPECT_EQ(only_one().finding.code, FindingCode::service_not_running);
    EXPECT_EQ(only_one().finding.evidence, "/dev/nvidia-nvswitchctl");

    system_.file("proc/77/comm", "nv-fabricmanage\n");
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NvidiaDiagnosisTest, AFabricManagerMayBeHiddenFromThisProcess)
{
    load();
    gpu("0000:06:00.0");
    stack_.nodes.push_back(node("/dev/nvidia-nvswitchctl"));
    EXPECT_EQ(only_one().severity(), Severity::error);

    std::filesystem::remove(system_.at("proc/1/comm"));
    EXPECT_EQ(only_one().severity(), Severity::warning);
}

TEST_F(NvidiaDiagnosisTest, AFileOfTheFabricManagerThatEndedDoesNotCount)
{
    load();
    gpu("0000:06:00.0");
    pci_.add("0000:0a:00.0", "nvidia-nvswitch");
    pci_.devices.back().class_code = 0x068000;
    system_.file("run/nvidia-fabricmanager/nv-fabricmanager.pid", "78\n");
    system_.file("proc/78/comm", "bash\n");

    EXPECT_THAT(evidence(), ElementsAre("/sys/bus/pci/devices/0000:0a:00.0/class"));
}

TEST_F(NvidiaDiagnosisTest, AFabricManagerOfAnotherVersionCannotRun)
{
    load();
    gpu("0000:06:00.0");
    stack_.nodes.push_back(node("/dev/nvidia-nvswitchctl"));
    tree_.file("usr/bin/nv-fabricmanager", "Fabric Manager version is : 575.57.08");
    EXPECT_THAT(only_one().finding.text, HasSubstr("is not of the driver's version 580.159.04"));

    tree_.file("usr/bin/nv-fabricmanager", "Fabric Manager version is : 580.159.04");
    EXPECT_EQ(only_one().finding.text.find("is not of"), std::string::npos);
}

TEST_F(NvidiaDiagnosisTest, HmmMayFailOnSomeKernels)
{
    utsname kernel = {};
    ASSERT_EQ(::uname(&kernel), 0);
    if (std::string(kernel.machine) != "x86_64")
        GTEST_SKIP() << "it is about kernels for x86";
    const char* const parameter = "sys/module/nvidia_uvm/parameters/uvm_disable_hmm";
    gpu("0000:06:00.0");
    system_.file(parameter, "N\n");
    for (const auto& [release, is_doubtful] :
         {std::pair("6.13.4-generic\n", true), std::pair("6.1.0-25-amd64\n", false),
          std::pair("6.15.0-generic\n", false), std::pair("5.14.0-570.el9_6.x86_64\n", true),
          std::pair("5.14.21-suse\n", false), std::pair("nonsense\n", false)}) {
        release_ = release;
        load(version, "Open Kernel Module");
        EXPECT_EQ(causes().size(), is_doubtful ? 1U : 0U) << release;
    }
    release_ = "6.13.4\n";
    load(version, "Open Kernel Module");
    EXPECT_EQ(only_one().severity(), Severity::warning);
    system_.file("proc/cmdline", "ro nokaslr\n");
    EXPECT_THAT(causes(), IsEmpty());
    system_.file("proc/cmdline", "ro\n");
    load();
    EXPECT_THAT(causes(), IsEmpty()) << "not the open module";
}

TEST_F(NvidiaDiagnosisTest, WithoutItsCompilerTheDriverTranslatesNothing)
{
    load();
    gpu("0000:06:00.0");
    stack_.files.pop_back();

    EXPECT_EQ(only_one().finding.evidence, "/usr/lib/libnvidia-ptxjitcompiler.so.580.159.04");
    EXPECT_EQ(only_one().stage, Stage::code);
    EXPECT_EQ(only_one().blocks, Blocks::some);
}

TEST_F(NvidiaDiagnosisTest, AnInstanceWithoutComputeInstanceIsIncomplete)
{
    load();
    gpu("0000:06:00.0");
    stack_.findings.push_back({FindingCode::gpu_unusable, "MIG instance 0:gi1",
                               "it has no compute instance",
                               "/proc/driver/nvidia/capabilities/gpu0/mig/gi1"});

    EXPECT_EQ(only_one().finding.evidence,
              "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access");
    EXPECT_EQ(only_one().stage, Stage::visible);
}

TEST_F(NvidiaDiagnosisTest, LibrariesOfAnotherVersionWereUpdated)
{
    load("575.57.08");
    gpu("0000:06:00.0");
    tree_.library("usr/lib/libcuda.so.580.159.04", "libcuda.so.1");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.580.159.04");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.1");

    const auto found = causes(false);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().finding.code, FindingCode::driver_version);
    EXPECT_EQ(found.front().finding.evidence, "/sys/module/nvidia/version");
    EXPECT_THAT(found.front().finding.text, HasSubstr("575.57.08"));
    EXPECT_THAT(found.front().finding.text, HasSubstr("unattended upgrade"));
    EXPECT_EQ(found.front().stage, Stage::host);
}

TEST_F(NvidiaDiagnosisTest, TheMainLibraryCanBeEmptyOrGone)
{
    load();
    gpu("0000:06:00.0");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.580.159.04");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.1");
    const std::string path = tree_.prefix() + "/usr/lib/libcuda.so.580.159.04";

    auto found = causes(false);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().finding.evidence, path);
    EXPECT_THAT(found.front().finding.text, HasSubstr("is gone"));
    EXPECT_TRUE(explains_failure(found.front()));

    tree_.file("usr/lib/libcuda.so.580.159.04");
    found = causes(false);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().finding.evidence, path);
    EXPECT_THAT(found.front().finding.text, HasSubstr("is empty"));
}

TEST_F(NvidiaDiagnosisTest, WithoutFilesTheKernelStillTellsOfItsGpus)
{
    load();
    gpu("0000:06:00.0");
    const auto root = tree_.open_driver();
    const Sources sources = {pci_, root, system_.at("sys").parent_path().string(), "", {}, ""};

    const auto found = without_files(sources);

    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->version, version);
    EXPECT_THAT((*found)->gpus, SizeIs(1));
    EXPECT_FALSE((*found)->missing_nodes.empty());
}

TEST_F(NvidiaDiagnosisTest, TheNodesOfATegrasGpuMayBeMissing)
{
    system_.file("sys/devices/soc0/family", "Tegra\n");
    system_.file("sys/dev/char/485:1/uevent", "DEVNAME=nvgpu/igpu0/ctrl\n");
    stack_.gpus.emplace_back();
    stack_.optional_files = true;

    EXPECT_EQ(only_one().finding.evidence, "/dev/nvgpu/igpu0/ctrl");
    EXPECT_EQ(only_one(false).severity(), Severity::error);
    stack_.nodes.push_back(node("/dev/nvgpu/igpu0/ctrl"));
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NvidiaDiagnosisTest, ARecordTellsOfItsGpusToo)
{
    stack_.findings = {{FindingCode::gpu_unusable, "GPU 0000:07:00.0", "bound to vfio-pci",
                        "/sys/bus/pci/devices/0000:07:00.0"}};
    stack_.files.pop_back();
    model::Causes found;

    add_recorded_causes(stack_, found);

    EXPECT_THAT(found, SizeIs(2));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
