// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/nvidia/kernel.hpp"

#include "support/temp_root.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::drivers::nvidia {

using model::DeviceNode;
using model::Gpu;

namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KernelTest : public ::testing::Test {
protected:
    std::string root() const { return system_.at("proc").parent_path().string(); }

    std::string version() const
    {
        const auto found = module_version(root());
        if (!found)
            return without_root(found.error().message());
        return *found ? **found : "none";
    }

    void gpu(const std::string& address, const std::string& minor, const std::string& more = "")
    {
        system_.file("proc/driver/nvidia/gpus/" + address + "/information",
                     base::format("Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\nGPU UUID: \t "
                                  "GPU-{0}\nBus Location: \t {0}\nDevice Minor: \t {1}\n{2}",
                                  address, minor, more));
    }

    Gpus driven()
    {
        auto found = driven_gpus(root(), pci_);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : Gpus();
    }

    static std::vector<std::string> texts(const std::vector<Gpu>& gpus)
    {
        std::vector<std::string> all;
        for (const Gpu& gpu : gpus)
            all.push_back(base::format("{} {} {} minor {} node {}", gpu.index, gpu.pci_address,
                                       gpu.uuid.empty() ? "-" : gpu.uuid, gpu.minor,
                                       gpu.numa_node));
        return all;
    }

    std::vector<std::string> texts(const model::Findings& skipped) const
    {
        std::vector<std::string> all;
        for (const model::Finding& one : skipped)
            all.push_back(without_root(one.object + ": " + one.text));
        return all;
    }

    std::string without_root(std::string text) const
    {
        if (const auto at = text.find(root()); at != std::string::npos)
            text.erase(at, root().size());
        return text;
    }

    test::TempRoot system_;
    test::FakeEnumerator pci_;
};

class ModuleVersion : public KernelTest {};

TEST_F(ModuleVersion, IsWhatSysfsSays)
{
    system_.file("sys/module/nvidia/version", "580.159.04\n");
    system_.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  "
                                               "1.2  Thu\n");

    EXPECT_EQ(version(), "580.159.04");
}

TEST_F(ModuleVersion, IsReadFromTheTextOfTheProprietaryModule)
{
    system_.file("proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 "
                 "UTC 2024\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n");

    EXPECT_EQ(version(), "470.256.02");
}

TEST_F(ModuleVersion, IsReadFromTheTextOfTheOpenModule)
{
    system_.file("proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release "
                 "Build  (dvs-builder@U22)\nGCC version:  gcc version 13.3.0\n");

    EXPECT_EQ(version(), "580.159.04");
}

TEST_F(ModuleVersion, IsReadFromTheTextOfOldModules)
{
    system_.file("proc/driver/nvidia/version",
                 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct 12 09:19:07 UTC "
                 "2022\nGCC version:  gcc version 4.8.5 20150623\n");

    EXPECT_EQ(version(), "390.157");
}

TEST_F(ModuleVersion, IsNoneWithoutTheModule) { EXPECT_EQ(version(), "none"); }

TEST_F(ModuleVersion, IsNeverTakenFromTheSecondLine)
{
    system_.file("proc/driver/nvidia/version", "NVRM version:\nGCC version:  gcc 12.2.0\n");

    EXPECT_EQ(version(), "/proc/driver/nvidia/version: no version in it");
}

TEST_F(ModuleVersion, FallsBackWhenSysfsSaysSomethingElse)
{
    system_.file("sys/module/nvidia/version", "../../etc\n");
    system_.file("proc/driver/nvidia/version", "NVRM version: NVIDIA Module  535.54.03  x\n");

    EXPECT_EQ(version(), "535.54.03");
}

TEST_F(ModuleVersion, ReportsATextThatCannotBeRead)
{
    system_.directory("proc/driver/nvidia/version");

    const auto found = module_version(root());

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::driver);
    EXPECT_EQ(version(), "/proc/driver/nvidia/version: Is a directory");
}

TEST(CharacterMajor, IsThatOfTheWholeName)
{
    const std::string devices = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n"
                                "238 nvidia-uvm\n239 nvidia-nvswitch\n\nBlock devices:\n  7 loop\n";

    EXPECT_EQ(search::character_major(devices, "nvidia-uvm"), 238U);
    EXPECT_EQ(search::character_major(devices, "mem"), 1U);
    EXPECT_EQ(search::character_major(devices, "nvidia-nv"), std::nullopt);
    EXPECT_EQ(search::character_major(devices, "loop"), std::nullopt);
    EXPECT_EQ(search::character_major("", "mem"), std::nullopt);
    EXPECT_EQ(search::character_major("x nvidia-uvm\n", "nvidia-uvm"), std::nullopt);
}

class DrivenGpus : public KernelTest {};

TEST_F(DrivenGpus, AreCountedInPciOrderWhateverTheirMinor)
{
    gpu("0000:c1:00.0", "0");
    gpu("0000:3B:00.0", "2");
    gpu("0000:86:00.0", "1");
    pci_.add("0000:3b:00.0", "nvidia", 1);

    EXPECT_THAT(texts(driven().gpus),
                ElementsAre("0 0000:3b:00.0 GPU-0000:3B:00.0 minor 2 node 1",
                            "1 0000:86:00.0 GPU-0000:86:00.0 minor 1 node -1",
                            "2 0000:c1:00.0 GPU-0000:c1:00.0 minor 0 node -1"));
}

TEST_F(DrivenGpus, HaveTheComputeCapabilityOfTheirDevice)
{
    gpu("0000:06:00.0", "0");
    gpu("0000:07:00.0", "1");
    gpu("0000:08:00.0", "2");
    pci_.add("0000:06:00.0", "nvidia");
    pci_.add("0000:07:00.0", "nvidia");
    pci_.devices.back().device_id = 0xfffe;

    const Gpus found = driven();

    ASSERT_EQ(found.gpus.size(), 3U);
    EXPECT_EQ(found.gpus[0].architecture, "9.0");
    EXPECT_EQ(found.gpus[1].architecture, "") << "a device that no table has";
    EXPECT_EQ(found.gpus[2].architecture, "") << "no device";
}

TEST_F(DrivenGpus, LeaveOutAnExcludedOne)
{
    gpu("0000:06:00.0", "0", "GPU Excluded:\t Yes\n");
    gpu("0000:07:00.0", "1", "GPU Excluded:\t No\n");

    const Gpus found = driven();

    EXPECT_THAT(texts(found.gpus), ElementsAre("0 0000:07:00.0 GPU-0000:07:00.0 minor 1 node -1"));
    EXPECT_THAT(texts(found.findings),
                ElementsAre("GPU 0000:06:00.0: the driver was told to exclude it"));
}

TEST_F(DrivenGpus, HaveNoUuidBeforeTheDriverKnowsIt)
{
    system_.file("proc/driver/nvidia/gpus/0000:06:00.0/information",
                 "Model: \t\t Unknown\nGPU UUID: \t GPU-" + std::string(36, '?')
                     + "\n"
                       "Device Minor: \t 0\n");

    EXPECT_THAT(texts(driven().gpus), ElementsAre("0 0000:06:00.0 - minor 0 node -1"));
}

TEST_F(DrivenGpus, HaveNoMinorWhenNoneIsSaid)
{
    gpu("0000:06:00.0", "99999999999999999999");
    gpu("0000:07:00.0", "-1");
    gpu("0000:08:00.0", "4294967295");

    const Gpus found = driven();
    EXPECT_THAT(texts(found.gpus), ElementsAre("0 0000:06:00.0 GPU-0000:06:00.0 minor -1 node -1",
                                               "1 0000:07:00.0 GPU-0000:07:00.0 minor -1 node -1",
                                               "2 0000:08:00.0 GPU-0000:08:00.0 minor -1 node -1"));
    ASSERT_EQ(found.findings.size(), 3U);
    EXPECT_EQ(found.findings.front().message(),
              "GPU 0000:06:00.0: the driver does not tell its device node: no Device Minor in its "
              "information");
}

TEST_F(DrivenGpus, SurviveTextThatIsNoInformation)
{
    system_.file("proc/driver/nvidia/gpus/0000:06:00.0/information", "\n:\n: :\nModel\n::::\n");

    EXPECT_THAT(texts(driven().gpus), ElementsAre("0 0000:06:00.0 - minor -1 node -1"));
}

TEST_F(DrivenGpus, ReportOneThatCannotBeRead)
{
    system_.directory("proc/driver/nvidia/gpus/0000:06:00.0/information");
    system_.directory("proc/driver/nvidia/gpus/0000:07:00.0");

    const Gpus found = driven();

    EXPECT_THAT(found.gpus, IsEmpty());
    EXPECT_THAT(
        texts(found.findings),
        ElementsAre("GPU 0000:06:00.0: /proc/driver/nvidia/gpus/0000:06:00.0/information: read: "
                    "Is a directory",
                    "GPU 0000:07:00.0: /proc/driver/nvidia/gpus/0000:07:00.0/information: No such "
                    "file or directory"));
}

TEST_F(DrivenGpus, AreNoneWhenTheDriverShowsNone) { EXPECT_THAT(driven().gpus, IsEmpty()); }

TEST_F(KernelTest, FindsGpusThatNothingDrives)
{
    pci_.add("0000:3b:00.0", "", 1);
    pci_.add("0000:86:00.0", "vfio-pci");

    const auto found = undriven_gpus(pci_);

    ASSERT_TRUE(found);
    EXPECT_THAT(texts(found->gpus), ElementsAre("0 0000:3b:00.0 - minor -1 node 1",
                                                "1 0000:86:00.0 - minor -1 node -1"));
    EXPECT_EQ(found->gpus.front().model, "NVIDIA device 2335");
    EXPECT_THAT(texts(found->findings),
                ElementsAre("GPU 0000:3b:00.0: no kernel driver is bound to it",
                            "GPU 0000:86:00.0: bound to the kernel driver vfio-pci"));
}

TEST_F(KernelTest, MasksTheParameterThatMakesNodes)
{
    system_.file("proc/driver/nvidia/params",
                 "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileMode: 438\n");

    const auto found = masks(root(), {}, {});

    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().path, "/proc/driver/nvidia/params");
    EXPECT_EQ(found->front().content,
              "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 0\nDeviceFileMode: 438\n");
}

TEST_F(KernelTest, MasksCapabilitiesWhateverTheParametersSay)
{
    system_.file("proc/driver/nvidia/params", "ModifyDeviceFiles: 0\n");
    system_.file("proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\n");

    const auto found = masks(root(), {}, {});

    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().path, "/proc/driver/nvidia/capabilities");
    EXPECT_EQ(found->front().content, "");
    EXPECT_TRUE(found->front().directory);
}

TEST_F(KernelTest, MasksNothingWhereTheDriverMakesNoNodes)
{
    EXPECT_TRUE(masks(root(), {}, {})->empty());
    system_.file("proc/driver/nvidia/params", "ModifyDeviceFiles: 0\n");
    EXPECT_TRUE(masks(root(), {}, {})->empty());
}

TEST_F(KernelTest, ShowsTheInformationOfEachGpuToItsContainers)
{
    for (const char* name : {"0000:3B:00.0", "0000:86:00.0", "0000:af:00.0"})
        system_.directory(base::format("proc/driver/nvidia/gpus/{}", name));
    std::vector<Gpu> gpus(2);
    gpus[0].pci_address = "0000:3b:00.0";
    gpus[1].index = 1;
    gpus[1].pci_address = "0000:86:00.0";

    const auto found = masks(root(), gpus, {});

    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().path, "/proc/driver/nvidia/gpus");
    EXPECT_TRUE(found->front().directory);
    EXPECT_FALSE(found->front().against_nodes);
    EXPECT_THAT(found->front().shown, ElementsAre(model::Shown{"0000:3B:00.0", 0, true},
                                                  model::Shown{"0000:86:00.0", 1, true}));
}

class DeviceNodes : public KernelTest {
protected:
    DeviceNodes()
    {
        system_.file("proc/devices", "Character devices:\n195 nvidia\n238 nvidia-uvm\n");
        system_.directory("dev");
    }

    /// False when this user may not make nodes, and need not.
    bool make_node(const std::string& name, unsigned major, unsigned minor, mode_t mode = 0666)
    {
        const std::string path = system_.at("dev/" + name).string();
        const char* ci = std::getenv("CI");
        if (::mknod(path.c_str(), S_IFCHR, ::makedev(major, minor)) != 0) {
            EXPECT_TRUE(errno == EPERM && ci == nullptr) << name << ", errno " << errno;
            return false;
        }
        return ::chmod(path.c_str(), mode) == 0;
    }

    std::vector<std::string> nodes(const std::vector<Gpu>& gpus)
    {
        std::vector<std::string> all;
        const auto found = device_nodes(root(), "", gpus, pci_, {}, skipped_);
        EXPECT_TRUE(found);
        for (const DeviceNode& node : found ? found->nodes : std::vector<DeviceNode>())
            all.push_back(base::format("{} {}:{} {:o} for {} {}", node.path, node.major, node.minor,
                                       node.mode, node.gpu, name(node.capability)));
        return all;
    }

    static Gpu gpu_of_minor(unsigned index, int minor)
    {
        Gpu gpu;
        gpu.index = index;
        gpu.minor = minor;
        return gpu;
    }

    model::Findings skipped_;
};

TEST_F(DeviceNodes, BelongToTheGpuOfTheirMinor)
{
    if (!make_node("nvidiactl", 195, 255) || !make_node("nvidia-uvm", 238, 0)
        || !make_node("nvidia-uvm-tools", 238, 1) || !make_node("nvidia0", 195, 0, 0660)
        || !make_node("nvidia1", 195, 1))
        GTEST_SKIP() << "this user may not make device nodes";

    EXPECT_THAT(nodes({gpu_of_minor(0, 1), gpu_of_minor(1, 0)}),
                ElementsAre("/dev/nvidiactl 195:255 666 for -1 none",
                            "/dev/nvidia-uvm 238:0 666 for -1 compute",
                            "/dev/nvidia-uvm-tools 238:1 666 for -1 compute",
                            "/dev/nvidia1 195:1 666 for 0 none",
                            "/dev/nvidia0 195:0 660 for 1 none"));
    // Of the file system that the test's nodes are on.
    EXPECT_THAT(texts(skipped_), Each(HasSubstr("nodev")));
}

TEST_F(DeviceNodes, ForGraphicsAreThoseOfTheGpusOfThisDriver)
{
    system_.file("proc/devices", "Character devices:\n195 nvidia-modeset\n226 drm\n");
    system_.directory("dev/dri");
    if (!make_node("nvidia-modeset", 195, 254) || !make_node("dri/card1", 226, 1)
        || !make_node("dri/renderD128", 226, 128) || !make_node("dri/card0", 226, 0))
        GTEST_SKIP() << "this user may not make device nodes";
    system_.link("dev/dri/by-path/pci-0000:3b:00.0-render", "../renderD128");
    system_.link("dev/dri/by-path/pci-0000:03:00.0-card", "../card0");
    const std::string ours = "0000:3b:00.0";
    pci_.parts["drm"] = {
        {"card0", "/dev/dri/card0", 226, 0, "0000:03:00.0", "ast", "0000:03:00.0"},
        {"card1", "/dev/dri/card1", 226, 1, ours, "nvidia", ours},
        {"controlD65", "/dev/dri/controlD65", 226, 65, ours, "nvidia", ours},
        {"renderD128", "/dev/dri/renderD128", 226, 128, ours, "nvidia", ours},
    };
    Gpu gpu = gpu_of_minor(0, 0);
    gpu.pci_address = ours;

    EXPECT_THAT(nodes({gpu}), ElementsAre("/dev/nvidia-modeset 195:254 666 for -1 graphics",
                                          "/dev/dri/card1 226:1 666 for 0 graphics",
                                          "/dev/dri/renderD128 226:128 666 for 0 graphics"));
    const auto found = device_nodes(root(), "", {gpu}, pci_, {}, skipped_);
    EXPECT_THAT(found->nodes.back().links, ElementsAre("/dev/dri/by-path/pci-0000:3b:00.0-render"));
    EXPECT_FALSE(found->nodes.back().required);
}

TEST_F(DeviceNodes, AreNotTakenWithOtherNumbers)
{
    if (!make_node("nvidiactl", 195, 254) || !make_node("nvidia-uvm", 195, 0)
        || !make_node("nvidia0", 1, 3))
        GTEST_SKIP() << "this user may not make device nodes";

    EXPECT_THAT(nodes({gpu_of_minor(0, 0)}), IsEmpty());
    EXPECT_THAT(texts(skipped_),
                ElementsAre("nvidiactl: not the character device 195:255",
                            "nvidia-uvm: not the character device 238:0",
                            "nvidia-uvm-tools: no device node: No such file or directory",
                            "nvidia0: not the character device 195:0"));
}

TEST_F(DeviceNodes, AreNeitherFilesNorLinks)
{
    system_.file("dev/nvidiactl");
    system_.link("dev/nvidia-uvm", "/dev/null");
    system_.link("dev/nvidia-uvm-tools", "nowhere");
    system_.directory("dev/nvidia0");

    EXPECT_THAT(nodes({gpu_of_minor(0, 0)}), IsEmpty());
    EXPECT_THAT(texts(skipped_), ElementsAre("nvidiactl: not the character device 195:255",
                                             "nvidia-uvm: not the character device 238:0",
                                             "nvidia-uvm-tools: not the character device 238:1",
                                             "nvidia0: not the character device 195:0"));
}

TEST_F(DeviceNodes, MayLieElsewhereOnTheHost)
{
    system_.directory("run/driver/dev");
    if (!make_node("../run/driver/dev/nvidiactl", 195, 255))
        GTEST_SKIP() << "this user may not make device nodes";

    const auto found =
        device_nodes(root(), "/run/driver", {gpu_of_minor(0, 0)}, pci_, {}, skipped_);

    ASSERT_TRUE(found);
    ASSERT_EQ(found->nodes.size(), 1U);
    EXPECT_EQ(found->nodes[0].path, "/dev/nvidiactl");
    EXPECT_EQ(found->nodes[0].host_path, "/run/driver/dev/nvidiactl");
    ASSERT_EQ(skipped_.size(), 3U);
    EXPECT_EQ(skipped_[2].evidence, "/run/driver/dev/nvidia0");
}

TEST_F(DeviceNodes, AreWarnedOfWhenCudaCannotWork)
{
    DeviceNode uvm;
    uvm.path = "/dev/nvidia-uvm";
    uvm.accessible = true;
    const std::vector<Gpu> driven = {gpu_of_minor(0, 0)};

    EXPECT_THAT(warnings(driven, {uvm}), IsEmpty());
    EXPECT_THAT(warnings({gpu_of_minor(0, -1)}, {}), IsEmpty());
    ASSERT_EQ(warnings(driven, {}).size(), 1U);
    EXPECT_EQ(warnings(driven, {})[0].capability, model::Capability::compute);
    EXPECT_EQ(warnings(driven, {})[0].message(),
              "/dev/nvidia-uvm: is missing: nvidia-smi works without it, CUDA programs do not");
    EXPECT_EQ(warnings(driven, {})[0].hint, "`nvidia-modprobe -u -c 0` as root makes it");
    uvm.accessible = false;
    ASSERT_EQ(warnings(driven, {uvm}).size(), 1U);
    EXPECT_EQ(
        warnings(driven, {uvm})[0].message(),
        "/dev/nvidia-uvm: may not be used: nvidia-smi works without it, CUDA programs do not");
    EXPECT_EQ(warnings(driven, {uvm})[0].hint, "");
}

TEST_F(DeviceNodes, SayThatUnifiedMemoryIsNotLoaded)
{
    system_.file("proc/devices", "Character devices:\n195 nvidia\n\nBlock devices:\n"
                                 "238 nvidia-uvm\n");

    EXPECT_THAT(nodes({}), IsEmpty());
    EXPECT_THAT(texts(skipped_), ElementsAre("nvidiactl: no device node: No such file or directory",
                                             "nvidia-uvm: its kernel driver is not loaded",
                                             "nvidia-uvm-tools: its kernel driver is not loaded"));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
