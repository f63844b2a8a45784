// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "unit/plan/plan_fixture.hpp"

#include "elf/ld_cache.hpp"
#include "rootfs/remembered_view.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class MergedPlanTest : public PlanTest {
protected:
    MergedPlanTest() { request_.layout = Layout::merged; }
};

TEST_F(MergedPlanTest, PutsEachFileWhereTheImagesOwnAre)
{
    EXPECT_THAT(
        items({ItemKind::directory, ItemKind::mount, ItemKind::bind, ItemKind::symlink,
               ItemKind::cover, ItemKind::file}),
        ElementsAre("bind created: /drv/lib/libcuda.so.580.1 -> " + libraries_
                        + "/libcuda.so.580.1 ro,nosuid,nodev",
                    "symlink created: libcuda.so.580.1 -> " + libraries_ + "/libcuda.so",
                    "symlink created: libcuda.so.580.1 -> " + libraries_ + "/libcuda.so.1",
                    "bind created: /drv/lib/libnvidia-ml.so.580.1 -> " + libraries_
                        + "/libnvidia-ml.so.580.1 ro,nosuid,nodev",
                    "symlink created: libnvidia-ml.so.580.1 -> " + libraries_
                        + "/libnvidia-ml.so.1",
                    "bind created: /drv/bin/nvidia-smi -> /usr/bin/nvidia-smi ro,nosuid,nodev"));
    const Plan plan = made();
    EXPECT_EQ(plan.layout, Layout::merged);
    EXPECT_EQ(plan.tree_path, "");
    EXPECT_EQ(item(ItemKind::bind).as<Bind>()->id, driver_.files.front().id);
}

TEST_F(MergedPlanTest, NamesTheFilesInTheLoaderCache)
{
    const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);

    ASSERT_TRUE(cache) << cache.error().message();
    const auto found = cache->lookup("libcuda.so.1");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().value, libraries_ + "/libcuda.so.1");
}

TEST_F(MergedPlanTest, CoversWhatTheImageHasUnderTheSameNames)
{
    root_.file(libraries_ + "/libcuda.so.1");
    root_.file(libraries_ + "/libnvidia-ml.so.580.1");
    root_.file("/usr/bin/nvidia-smi");
    for (const char* name : {"/libcuda.so.1", "/libnvidia-ml.so.580.1"})
        root_.at(libraries_ + name).size = 1;

    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre("cover there: /drv/lib/libcuda.so.580.1 -> " + libraries_
                                + "/libcuda.so.1 ro,nosuid,nodev",
                            "cover there: /drv/lib/libnvidia-ml.so.580.1 -> " + libraries_
                                + "/libnvidia-ml.so.580.1 ro,nosuid,nodev",
                            "cover there: /drv/bin/nvidia-smi -> /usr/bin/nvidia-smi "
                            "ro,nosuid,nodev"));
    EXPECT_THAT(items({ItemKind::bind}),
                ElementsAre("bind created: /drv/lib/libcuda.so.580.1 -> " + libraries_
                            + "/libcuda.so.580.1 ro,nosuid,nodev"));
}

TEST_F(MergedPlanTest, HasNamesOfItsOwnWhereAnotherSetUpWroteThem)
{
    request_.write = Write::never;
    root_.file(libraries_ + "/libcuda.so.580.1"); // that a file is mounted over
    root_.link(libraries_ + "/libcuda.so.1", "libcuda.so.580.1");

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    EXPECT_THAT(items({ItemKind::bind}),
                Contains("bind overlay: /drv/lib/libcuda.so.580.1 -> " + libraries_
                         + "/libcuda.so.580.1 ro,nosuid,nodev"));
    EXPECT_THAT(items({ItemKind::symlink}),
                Contains("symlink overlay: libcuda.so.580.1 -> " + libraries_ + "/libcuda.so.1"));
}

TEST_F(MergedPlanTest, IsAnotherPlanThanOneWithATree)
{
    const std::string merged = made().identity;
    request_.layout = Layout::tree;

    EXPECT_NE(made().identity, merged);
}

TEST_F(PlanTest, PutsTheTreeWhereItIsTold)
{
    request_.tree_path = "/opt/gpu";

    EXPECT_EQ(made().tree_path, "/opt/gpu");
    EXPECT_THAT(items({ItemKind::directory}),
                ElementsAre("directory created:  -> /opt", "directory created:  -> /opt/gpu"));
    EXPECT_THAT(items({ItemKind::bind}), Each(HasSubstr(" -> /opt/gpu/")));
    EXPECT_THAT(items({ItemKind::symlink}),
                Contains("symlink created: /opt/gpu -> /usr/local/nvidia"));
    EXPECT_EQ(item(ItemKind::file).as<GeneratedFile>()->content, "/opt/gpu/lib64\n");
}

TEST_F(PlanTest, PutsTheTreeWhereCudaImagesLook)
{
    request_.tree_path = "/usr/local/nvidia";

    EXPECT_THAT(items({ItemKind::symlink}), Not(Contains(HasSubstr(" -> /usr/local/nvidia "))));
    EXPECT_THAT(items({ItemKind::mount}),
                ElementsAre("mount there: tmpfs -> /usr/local/nvidia ro,nosuid,nodev"));
}

TEST_F(PlanTest, TakesADirectoryThatIsEmptyForTheTree)
{
    root_.directory("/opt/gpu");
    request_.tree_path = "/opt/gpu";

    EXPECT_EQ(problem(), "no error");
    root_.file("/opt/gpu/file");
    EXPECT_EQ(problem(), "5 /opt/gpu is in the way: not empty");
}

TEST_F(PlanTest, TakesADirectoryThatIsRemovedMeanwhile)
{
    const std::string path = "/usr/lib/gpuctr";
    root_.directory(path);
    const rootfs::RememberedView before(root_);
    const rootfs::Entry found = before.look(path);
    root_.remove(path);

    const Target target = {before, facts_};
    const auto plan = create_plan({&driver_, 1}, request_, &target);

    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_TRUE(plan->found.at(path).same_file(found));
}

TEST_F(PlanTest, RefusesPathsThatCanBeNoTree)
{
    for (const auto& [path, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "not absolute"},
             {"opt/gpu", "not absolute"},
             {"/", "has an empty name, . or .."},
             {"/opt/", "has an empty name, . or .."},
             {"/opt//gpu", "has an empty name, . or .."},
             {"/opt/../etc", "has an empty name, . or .."},
             {"/opt/a b", "has a character other than letters, digits and /._+-@"},
             {"/opt/a\nb", "has a character other than letters, digits and /._+-@"},
             {"/opt/a:b", "has a character other than letters, digits and /._+-@"},
             {"/dev/gpu", "below /dev"},
             {"/proc", "below /proc"},
             {"/sys/gpu", "below /sys"}}) {
        request_.tree_path = path;
        EXPECT_EQ(problem(), base::format("2 tree path {}: {}", path, why));
    }
}

TEST_F(PlanTest, RefusesAPathForATreeThatThereIsNone)
{
    request_.tree_path = "/opt/gpu";
    request_.layout = Layout::merged;
    EXPECT_EQ(problem(), "2 tree path /opt/gpu: the layout has no tree");
    request_.layout = Layout::tree;
    request_.vendor_libs = VendorLibs::none;
    EXPECT_EQ(problem(), "2 tree path /opt/gpu: without the driver's files there is no tree");
}

TEST_F(PlanTest, GivesDeviceNodesAloneWithoutTheDriversFiles)
{
    root_ = {};
    root_.directory("/dev");
    root_.file("/proc/driver/params");
    driver_.masks = {{"/proc/driver/params", "content", "reason"}};
    request_.vendor_libs = VendorLibs::none;

    EXPECT_THAT(items(),
                ElementsAre("device created: /dev/nvidiactl -> /dev/nvidiactl ro,nosuid,noexec",
                            "device created: /dev/nvidia-uvm -> /dev/nvidia-uvm ro,nosuid,noexec",
                            "device created: /dev/nvidia0 -> /dev/nvidia0 ro,nosuid,noexec",
                            "device created: /dev/nvidia1 -> /dev/nvidia1 ro,nosuid,noexec",
                            "cover there:  -> /proc/driver/params ro,nosuid,nodev"));
    EXPECT_EQ(made().tree_path, "");
    EXPECT_THAT(skipped("libcuda.so.580.1"),
                ElementsAre("/drv/lib/libcuda.so.580.1: only device nodes were asked for"));
}

TEST_F(PlanTest, TakesTheHostsFilesUnlessToldOtherwise)
{
    const std::string automatic = made().identity;
    request_.vendor_libs = VendorLibs::host;

    EXPECT_EQ(made().identity, automatic);
}

TEST_F(PlanTest, ConfiguresTheLoaderOfAnImageWithoutConfiguration)
{
    EXPECT_EQ(item(ItemKind::file).target, "/etc/ld.so.conf.d/00-gpuctr.conf");
    root_ = {};
    root_.file(std::string(elf::own_machine().loader));
    EXPECT_EQ(item(ItemKind::file).target, "/etc/ld.so.conf");
}

} // namespace
} // namespace gpucontainer::plan
