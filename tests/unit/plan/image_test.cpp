// SPDX-License-Identifier: MIT
#include "unit/plan/plan_fixture.hpp"

#include "elf/ld_cache_writer.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(PlanTest, RefusesATreePathThatIsNoDirectory)
{
    root_.file(tree);
    EXPECT_EQ(problem(), "5 /usr/lib/gpuctr is in the way: not a directory");
    root_.link(tree, "/etc");
    EXPECT_EQ(problem(), "5 /usr/lib/gpuctr is in the way: not a directory");
}

TEST_F(PlanTest, LeavesTheImagesOwnNvidiaDirectory)
{
    root_.directory("/usr/local/nvidia/lib64");

    EXPECT_THAT(items({ItemKind::symlink}),
                Not(Contains("symlink created: /usr/lib/gpuctr -> /usr/local/nvidia")));
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

TEST_F(PlanTest, CoversStaleCopiesWhereverTheyAreFoundFirst)
{
    root_.file(libraries_ + "/libcuda.so.1");
    root_.file("/usr/local/nvidia/lib64/libnvidia-ml.so.1");
    root_.file("/usr/bin/nvidia-smi");
    root_.file("/usr/lib/libGLX_nvidia.so.0");

    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre("cover there: /drv/lib/libcuda.so.580.1 -> " + libraries_
                                + "/libcuda.so.1 ro,nosuid,nodev",
                            "cover there: /drv/lib/libnvidia-ml.so.580.1 -> "
                            "/usr/local/nvidia/lib64/libnvidia-ml.so.1 ro,nosuid,nodev",
                            "cover there: /drv/bin/nvidia-smi -> /usr/bin/nvidia-smi "
                            "ro,nosuid,nodev"));
    EXPECT_EQ(item(ItemKind::cover).as<Cover>()->id, driver_.files.front().id);
}

TEST_F(PlanTest, CoversAFileOfTwoNamesOnce)
{
    root_.file(libraries_ + "/libcuda.so.1");
    root_.hard_link("/usr/lib/libcuda.so.1", libraries_ + "/libcuda.so.1");

    EXPECT_EQ(items({ItemKind::cover}).size(), 1U);
}

TEST_F(PlanTest, CoversWhatALinkLeadsToOnce)
{
    root_.file("/opt/libcuda.so.535");
    root_.link(libraries_ + "/libcuda.so.1", "/opt/libcuda.so.535");
    root_.link("/usr/lib/libcuda.so.1", "/opt/libcuda.so.535");

    EXPECT_EQ(items({ItemKind::cover}).size(), 1U);
}

TEST_F(PlanTest, SaysWhichNamesCannotBeCovered)
{
    root_.link(libraries_ + "/libcuda.so.1", "/nowhere");
    root_.directory("/usr/bin/nvidia-smi");

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    const std::string reason = ": the image has this name, but it leads to no file that could be "
                               "covered";
    EXPECT_THAT(skipped("libcuda.so.1"), ElementsAre(libraries_ + "/libcuda.so.1" + reason));
    EXPECT_THAT(skipped("nvidia-smi"), ElementsAre("/usr/bin/nvidia-smi" + reason));
}

TEST_F(PlanTest, LeavesItsOwnLinksOfAnEarlierRun)
{
    for (const char* name : {"/libcuda.so.1", "/libcuda.so"})
        root_.link(libraries_ + name, std::string("/usr/lib/gpuctr/lib64") + name);
    root_.link("/usr/bin/nvidia-smi", "/usr/lib/gpuctr/bin/nvidia-smi");
    root_.link("/usr/local/nvidia", tree);

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    EXPECT_THAT(skipped("libcuda.so.1"), IsEmpty());
    EXPECT_THAT(items({ItemKind::symlink}),
                Not(Contains(::testing::StartsWith("symlink created"))));
}

TEST_F(PlanTest, CoversAForeignLinkThatOnlyLooksLikeItsOwn)
{
    root_.file("/usr/lib/gpuctr2/libcuda.so.1");
    root_.link(libraries_ + "/libcuda.so.1", "/usr/lib/gpuctr2/libcuda.so.1");

    EXPECT_EQ(items({ItemKind::cover}).size(), 1U);
}

TEST_F(PlanTest, CoversNothingOfItsOwnTree)
{
    set_up();

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

TEST_F(PlanTest, CoversNoFileThatIsTheDriversAlready)
{
    root_.file(libraries_ + "/libcuda.so.1");
    root_.at(libraries_ + "/libcuda.so.1").device = driver_.files[0].id.device;
    root_.at(libraries_ + "/libcuda.so.1").inode = driver_.files[0].id.inode;

    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

class CachePlanTest : public PlanTest {
protected:
    elf::LdCache cache() const
    {
        auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
        EXPECT_TRUE(cache) << cache.error().message();
        return *std::move(cache);
    }

    std::vector<std::string> found(const elf::LdCache& cache, std::string_view name) const
    {
        std::vector<std::string> all;
        for (const elf::CacheEntry& entry : cache.lookup(name))
            all.emplace_back(entry.value);
        return all;
    }
};

TEST_F(CachePlanTest, NamesEachLibraryUnderAllItsNames)
{
    const elf::LdCache merged = cache();

    for (const char* name : {"libcuda.so.1", "libcuda.so", "libcuda.so.580.1", "libnvidia-ml.so.1"})
        EXPECT_THAT(found(merged, name), ElementsAre(std::string(tree) + "/lib64/" + name));
    EXPECT_EQ(merged.size(), 5U);
}

TEST_F(CachePlanTest, PutsTheTreeBeforeTheImagesOwnEntries)
{
    root_.file("/etc/ld.so.cache", elf::merge(nullptr, {{"libcuda.so.1", "/opt/libcuda.so.1"},
                                                        {"libz.so.1", "/usr/lib/libz.so.1"}})
                                       ->bytes);

    const elf::LdCache merged = cache();

    EXPECT_THAT(found(merged, "libcuda.so.1"),
                ElementsAre("/usr/lib/gpuctr/lib64/libcuda.so.1", "/opt/libcuda.so.1"));
    EXPECT_THAT(found(merged, "libz.so.1"), ElementsAre("/usr/lib/libz.so.1"));
    EXPECT_TRUE(made().old_cache.same_file(root_.look("/etc/ld.so.cache")));
}

TEST_F(CachePlanTest, ReplacesADamagedCache)
{
    root_.file("/etc/ld.so.cache", "glibc-ld.so.cache1.1 and nothing else");

    EXPECT_EQ(cache().size(), 5U);
}

TEST_F(CachePlanTest, DoesNotDropTheEntriesOfACacheThatItCannotRead)
{
    root_.file("/etc/ld.so.cache", std::string(elf::max_cache_size + 1, 'x'));

    EXPECT_EQ(problem(), "1 loader cache: /etc/ld.so.cache: File too large");
}

} // namespace
} // namespace gpucontainer::plan
