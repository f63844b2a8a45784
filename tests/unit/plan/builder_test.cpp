// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(PlanTest, SaysEverythingInTheOrderOfDoingIt)
{
    EXPECT_THAT(
        items(),
        ElementsAre("directory created:  -> /usr/lib/gpuctr",
                    "mount there: tmpfs -> /usr/lib/gpuctr ro,nosuid,nodev",
                    "symlink tree: lib64 -> /usr/lib/gpuctr/lib",
                    "bind tree: /drv/lib/libcuda.so.580.1 -> /usr/lib/gpuctr/lib64/"
                    "libcuda.so.580.1 ro,nosuid,nodev",
                    "symlink tree: libcuda.so.580.1 -> /usr/lib/gpuctr/lib64/libcuda.so.1",
                    "symlink tree: libcuda.so.580.1 -> /usr/lib/gpuctr/lib64/libcuda.so",
                    "bind tree: /drv/lib/libnvidia-ml.so.580.1 -> /usr/lib/gpuctr/lib64/"
                    "libnvidia-ml.so.580.1 ro,nosuid,nodev",
                    "symlink tree: libnvidia-ml.so.580.1 -> /usr/lib/gpuctr/lib64/"
                    "libnvidia-ml.so.1",
                    "bind tree: /drv/bin/nvidia-smi -> /usr/lib/gpuctr/bin/nvidia-smi "
                    "ro,nosuid,nodev",
                    "symlink created: /usr/lib/gpuctr/lib64/libcuda.so.1 -> " + libraries_
                        + "/libcuda.so.1",
                    "symlink created: /usr/lib/gpuctr/lib64/libcuda.so -> " + libraries_
                        + "/libcuda.so",
                    "symlink created: /usr/lib/gpuctr/bin/nvidia-smi -> /usr/bin/nvidia-smi",
                    "symlink created: /usr/lib/gpuctr -> /usr/local/nvidia",
                    "ldcache created:  -> /etc/ld.so.cache",
                    "file created:  -> /etc/ld.so.conf.d/00-gpuctr.conf",
                    "device created: /dev/nvidiactl -> /dev/nvidiactl ro,nosuid,noexec",
                    "device created: /dev/nvidia-uvm -> /dev/nvidia-uvm ro,nosuid,noexec",
                    "device created: /dev/nvidia0 -> /dev/nvidia0 ro,nosuid,noexec",
                    "device created: /dev/nvidia1 -> /dev/nvidia1 ro,nosuid,noexec"));
}

TEST_F(PlanTest, CarriesWhatTheDriverIs)
{
    driver_.version_source = model::VersionSource::option;

    const Plan plan = made();

    ASSERT_EQ(plan.drivers.size(), 1U);
    EXPECT_EQ(plan.drivers[0].vendor, "nvidia");
    EXPECT_EQ(plan.drivers[0].version, "580.1");
    EXPECT_EQ(plan.drivers[0].version_source, model::VersionSource::option);
    EXPECT_EQ(plan.tree_path, tree);
    EXPECT_TRUE(plan.has_root);
    EXPECT_EQ(plan.drivers[0].gpus.size(), 2U);
    EXPECT_THAT(needs(), ElementsAre("a mounted /proc"));
    EXPECT_THAT(plan.variables, IsEmpty());
    EXPECT_EQ(item(ItemKind::bind).as<Bind>()->id, driver_.files.front().id);
    EXPECT_EQ(item(ItemKind::bind).reason, "library of a test");
    EXPECT_EQ(item(ItemKind::file).as<GeneratedFile>()->content, "/usr/lib/gpuctr/lib64\n");
}

TEST_F(PlanTest, WarnsThatItCanOnlyBeShownWithoutTheKernelModule)
{
    driver_.version_source = model::VersionSource::files;
    driver_.nodes.clear();
    for (model::Gpu& gpu : driver_.gpus) {
        gpu.minor = -1;
        gpu.pci_address = "0000:06:00.0";
    }
    driver_.findings.push_back({model::FindingCode::gpu_unusable, "GPU 0000:06:00.0",
                                "bound to the kernel driver nouveau"});

    const Plan plan = made();

    const auto warning =
        std::ranges::find(plan.findings, model::FindingCode::no_gpu, &model::Finding::code);
    ASSERT_NE(warning, plan.findings.end());
    EXPECT_EQ(warning->message(),
              "NVIDIA GPUs: their kernel module is not loaded; GPU 0000:06:00.0: bound to the "
              "kernel driver nouveau: there are no device nodes, and the plan can only be shown");
    EXPECT_EQ(warning->evidence, "/sys/bus/pci/devices/0000:06:00.0/driver");
}

TEST_F(PlanTest, LeavesOutWhatWasNotAskedFor)
{
    driver_.files.push_back(test::make_library("libnvidia-gtk3.so.1", Capability::none, 20));
    request_.capabilities = "utility";

    EXPECT_THAT(skipped("libGLX_nvidia.so.580.1"),
                ElementsAre("/drv/lib/libGLX_nvidia.so.580.1: belongs to graphics, which was not "
                            "asked for: library of a test"));
    EXPECT_THAT(skipped("libcuda.so.580.1"),
                ElementsAre("/drv/lib/libcuda.so.580.1: belongs to compute, which was not asked "
                            "for: library of a test"));
    EXPECT_THAT(skipped("libnvidia-gtk3.so.580.1"),
                ElementsAre("/drv/lib/libnvidia-gtk3.so.580.1: of no use in a container: library "
                            "of a test"));
    EXPECT_THAT(items({ItemKind::device}),
                Not(Contains("device created: /dev/nvidia-uvm -> /dev/nvidia-uvm "
                             "ro,nosuid,noexec")));
}

TEST_F(PlanTest, TakesAFileForItsSecondCapability)
{
    driver_.files[2].also = Capability::utility;
    request_.capabilities = "utility";

    EXPECT_THAT(skipped("libGLX_nvidia.so.580.1"), IsEmpty());
}

TEST_F(PlanTest, HandsOnErrorsOfTheRequest)
{
    request_.devices = "7";
    EXPECT_EQ(problem(), "2 device 7: no such GPU");
    request_.devices_name = "--gpus";
    EXPECT_EQ(problem(), "2 --gpus 7: no such GPU");
    request_ = {};
    request_.capabilities = "magic";
    EXPECT_EQ(problem(), "2 unknown driver capability 'magic'");
}

TEST_F(PlanTest, NeedsARootWithTheMachinesLoader)
{
    root_ = {};
    root_.directory("/usr/lib");

    EXPECT_EQ(problem(),
              "5 no " + std::string(elf::own_machine().loader) + " in the root file system");
}

TEST_F(PlanTest, IsForTheMachineOfTheDriversLibraries)
{
    const elf::Machine& arm = *elf::find_machine("aarch64");
    driver_.machine = arm.name;
    root_ = test::FakeView::distribution(arm);

    const Plan plan = made();
    const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);

    EXPECT_EQ(plan.machine, &arm);
    ASSERT_TRUE(cache) << cache.error().message();
    EXPECT_EQ(cache->lookup("libcuda.so.1", arm.cache_flags).size(), 1U);
    EXPECT_EQ(cache->lookup("libcuda.so.1", 0x0303).size(), 0U);
    EXPECT_TRUE(create_plan({&driver_, 1}, request_, nullptr)) << "a typical root";
}

TEST_F(PlanTest, NeedsDriversOfOneMachine)
{
    std::vector<model::DriverStack> drivers = {driver_, driver_};
    drivers[0].machine = "aarch64";
    drivers[1].machine = "ppc64le";
    drivers[1].vendor = "amd";
    const Target target = {root_, facts_, may_make_nodes_};

    const auto plan = create_plan(drivers, request_, &target);

    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message(), "the drivers' libraries are for different architectures");
}

TEST_F(PlanTest, WithoutARootWritesIntoATypicalOne)
{
    const auto plan = create_plan({&driver_, 1}, request_, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_FALSE(plan->has_root);
    EXPECT_TRUE(plan->writes_root);
    std::vector<std::string> in_typical;
    for (const Item& item : plan->items)
        in_typical.push_back(text(item));
    EXPECT_EQ(in_typical, items());
}

TEST_F(PlanTest, HandsOutTheNodesOfTheChosenGpuOnly)
{
    request_.devices = "1";

    const Plan plan = made();

    EXPECT_THAT(items({ItemKind::device}),
                ElementsAre("device created: /dev/nvidiactl -> /dev/nvidiactl ro,nosuid,noexec",
                            "device created: /dev/nvidia-uvm -> /dev/nvidia-uvm ro,nosuid,noexec",
                            "device created: /dev/nvidia1 -> /dev/nvidia1 ro,nosuid,noexec"));
    const auto rules = device_rules(plan);
    ASSERT_EQ(rules.size(), 3U);
    EXPECT_EQ(rules.back().major, 195U);
    EXPECT_EQ(rules.back().minor, 1U);
    ASSERT_EQ(plan.drivers[0].gpus.size(), 1U);
    EXPECT_EQ(plan.drivers[0].gpus.front().index, 1U);
}

TEST_F(PlanTest, NamesTheGroupsThatItsNodesNeed)
{
    driver_.nodes[0].gid = 27;
    driver_.nodes[1].mode = 0660;
    driver_.nodes[1].gid = 44;
    driver_.nodes[2].mode = 0664;
    driver_.nodes[2].gid = 44;
    driver_.nodes[3].mode = 0660;
    driver_.nodes[3].gid = 0;

    EXPECT_THAT(made().groups, ElementsAre(44U));
}

TEST_F(PlanTest, LeavesAForbiddenGpuOutUnlessItWasAskedFor)
{
    driver_.nodes[2].accessible = false;

    EXPECT_THAT(items({ItemKind::device}), Not(Contains(::testing::HasSubstr("/dev/nvidia0"))));
    request_.devices = "all";
    EXPECT_EQ(problem(),
              "6 device all: /dev/nvidia0: may not be used: its permissions or the device cgroup "
              "forbid it");
}

TEST_F(PlanTest, NeedsTheControlNode)
{
    driver_.nodes[0].accessible = false;

    EXPECT_EQ(problem(), "6 /dev/nvidiactl: may not be used: its permissions or the device cgroup "
                         "forbid it");
}

TEST_F(PlanTest, SaysThatAnOptionalNodeIsForbidden)
{
    driver_.nodes[1].accessible = false;

    EXPECT_THAT(skipped("nvidia-uvm"),
                ElementsAre("/dev/nvidia-uvm: may not be used: its permissions or the device "
                            "cgroup forbid it"));
}

TEST_F(PlanTest, SaysWhyAGpuIsNotAmongThoseThatMayBeUsed)
{
    driver_.nodes[2].accessible = false;
    driver_.findings = {
        {model::FindingCode::node_inaccessible, "nvidia0", "its mount has a flag", "/dev/nvidia0"}};

    EXPECT_THAT(skipped("nvidia0"),
                ElementsAre("/dev/nvidia0: may not be used: its mount has a flag"));
    request_.devices = "1";
    EXPECT_THAT(skipped("nvidia0"), IsEmpty());
}

TEST_F(PlanTest, RefusesAChosenGpuWhoseNodeIsMissing)
{
    driver_.missing_nodes = {driver_.nodes[3]};
    driver_.nodes.pop_back();

    EXPECT_EQ(problem(), "no error");
    request_.devices = "0";
    EXPECT_EQ(problem(), "no error");
    request_.devices = "0,1";
    EXPECT_EQ(problem(),
              "3 device 0,1: /dev/nvidia1: the device node is missing or another device");
}

TEST_F(PlanTest, RefusesToDoWithoutTheControlNode)
{
    driver_.missing_nodes = {driver_.nodes[0]};
    driver_.nodes.erase(driver_.nodes.begin());

    EXPECT_EQ(problem(), "3 /dev/nvidiactl: the device node is missing or another device");
}

TEST_F(PlanTest, MasksWhatMakesNodesWhereTheyCanBeMade)
{
    driver_.masks = {{"/proc/driver/params", "content", "reason"}};
    root_.file("/proc/driver/params");

    const Item mask = item(ItemKind::cover);

    EXPECT_EQ(text(mask), "cover there:  -> /proc/driver/params ro,nosuid,nodev");
    EXPECT_EQ(mask.as<GeneratedCover>()->content, "content");
    may_make_nodes_ = false;
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

TEST_F(PlanTest, AsksForAMaskWhereItCannotBeMounted)
{
    driver_.masks = {{"/proc/driver/params", "content", "reason"}};

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    EXPECT_THAT(needs(),
                ElementsAre("a mounted /proc",
                            "a device cgroup, if root runs in the container: its programs can make "
                            "the nodes of other GPUs, as nothing covers /proc/driver/params"));
}

TEST_F(PlanTest, MasksADirectoryThatMakesNodesByAnEmptyOne)
{
    driver_.masks = {{"/proc/driver/all", "", "reason", true}};
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    EXPECT_THAT(needs(),
                ElementsAre("a mounted /proc",
                            "/proc/driver/all masked, if root runs in the container: its programs "
                            "can make more of the driver's nodes from it"));

    root_.file("/proc/driver/all");
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());

    root_.directory("/proc/driver/all");
    const Item mask = item(ItemKind::cover);
    EXPECT_EQ(text(mask), "cover there:  -> /proc/driver/all ro,nosuid,nodev");
    EXPECT_TRUE(mask.as<GeneratedCover>()->is_directory);
}

TEST_F(PlanTest, MasksADirectoryWhereNobodyCanMakeNodesIfTheRootIsWritten)
{
    driver_.masks = {{"/proc/driver/all", "", "reason", true}};
    may_make_nodes_ = false;
    EXPECT_THAT(needs(), ElementsAre("a mounted /proc"));

    root_.directory("/proc/driver/all");
    EXPECT_THAT(items({ItemKind::cover}), SizeIs(1));

    request_.write = Write::never;
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

TEST_F(PlanTest, ShowsOfAMaskedDirectoryWhatIsOfTheChosenGpus)
{
    driver_.masks = {
        {"/proc/driver/gpus", "", "reason", true, {{"a", 0}, {"b", 1}, {"b", 1}}, false}};
    EXPECT_THAT(needs(), ElementsAre("a mounted /proc"));
    root_.directory("/proc/driver/gpus");
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty()) << "nothing would be hidden";

    request_.devices = "1";
    may_make_nodes_ = false;

    EXPECT_EQ(text(item(ItemKind::cover)), "cover there:  -> /proc/driver/gpus ro,nosuid,nodev");
    std::vector<Item> shown;
    for (const Item& one : made().items)
        if (one.place == Place::cover)
            shown.push_back(one);
    ASSERT_THAT(shown, SizeIs(1));
    EXPECT_EQ(text(shown[0]), "bind cover: /proc/driver/gpus/b -> /proc/driver/gpus/b "
                              "ro,nosuid,nodev");
    EXPECT_EQ(shown[0].owner.gpu, 1);
}

TEST_F(PlanTest, TranslatesTheSchedulersVariable)
{
    request_.environment = {{"CUDA_VISIBLE_DEVICES", "1"}, {"OTHER", "0"}};

    EXPECT_THAT(texts(made().variables),
                ElementsAre("set CUDA_VISIBLE_DEVICES=" + driver_.gpus[1].uuid));
    EXPECT_THAT(items({ItemKind::env}),
                ElementsAre("env there: " + driver_.gpus[1].uuid + " -> CUDA_VISIBLE_DEVICES set"));
}

TEST_F(PlanTest, TakesTheSchedulersVariableAwayWhereItWouldNotFit)
{
    request_.environment = {{"CUDA_VISIBLE_DEVICES", "1"}};
    request_.devices = "0";
    EXPECT_THAT(texts(made().variables), ElementsAre("unset CUDA_VISIBLE_DEVICES="));

    request_.devices = "auto";
    driver_.gpus[1].uuid.clear();
    EXPECT_THAT(texts(made().variables), ElementsAre("unset CUDA_VISIBLE_DEVICES="));
}

TEST_F(PlanTest, IsTheSameOnARootThatHasItAlready)
{
    const Plan before = made();

    set_up();

    EXPECT_EQ(made().identity, before.identity);
    EXPECT_FALSE(before.identity.empty());
}

TEST_F(PlanTest, DiffersWithTheFilesAndTheGpus)
{
    const std::string usual = made().identity;

    driver_.files[1].id.mtime_ns = 2;
    EXPECT_NE(made().identity, usual);
    driver_.files[1].id.mtime_ns = 1;
    EXPECT_EQ(made().identity, usual);
    driver_.files[1].path += "x";
    EXPECT_NE(made().identity, usual);
    driver_ = test::make_driver();
    request_.devices = "0";
    EXPECT_NE(made().identity, usual);
    request_ = {};
    request_.capabilities = "utility";
    EXPECT_NE(made().identity, usual);
    request_ = {};
    driver_.nodes[1].major = 239;
    EXPECT_NE(made().identity, usual);
}

TEST_F(PlanTest, WarnsOfWhatWillNotWorkWhereItWasAskedFor)
{
    driver_.findings = {{model::FindingCode::library_missing, "libcuda", "no CUDA", "", "",
                         model::Capability::compute}};
    EXPECT_THAT(warnings(), ElementsAre("libcuda: no CUDA"));

    request_.capabilities = "utility";
    EXPECT_THAT(warnings(), IsEmpty());
    driver_.findings[0].capability = model::Capability::none; // whatever they use
    EXPECT_THAT(warnings(), ElementsAre("libcuda: no CUDA"));
    request_.capabilities = "compute";
    request_.devices = "none";
    EXPECT_THAT(warnings(), IsEmpty());
}

} // namespace
} // namespace gpucontainer::plan
