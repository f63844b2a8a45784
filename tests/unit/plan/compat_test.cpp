// SPDX-License-Identifier: MIT
#include "plan/compat.hpp"

#include "elf/ld_cache_writer.hpp"
#include "unit/elf/noted_library.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* compat = "/usr/local/cuda/compat";
constexpr const char* note =
    R"({"Format": 1, "CUDA Version": "13.1", "Driver": [570, 580], "Device": [2, 14]})";

class ImageCompatTest : public PlanTest {
protected:
    ImageCompatTest()
    {
        for (model::Gpu& gpu : driver_.gpus)
            gpu.model = "NVIDIA H200";
        add(compat);
    }

    /// Adds a libcuda for older drivers.
    void add(const std::string& directory, const std::string& text = note)
    {
        const std::string file = directory + "/libcuda.so.590.44.01";
        const std::string bytes =
            test::noted_library("libcuda.so.1", test::note("NVIDIA Corporation", text));
        root_.directory(directory);
        root_.file(file, bytes);
        root_.file(directory + "/libcuda.so.1", bytes);
        root_.hard_link(directory + "/libcuda.so.1", file);
        root_.file(directory + "/libnvidia-nvvm.so.4");
    }

    void image_cache(const std::vector<elf::NewCacheEntry>& entries)
    {
        root_.file("/etc/ld.so.cache", elf::merge(nullptr, entries)->bytes);
    }

    /// Where programs find a library, in the order of the cache.
    std::vector<std::string> found(std::string_view soname) const
    {
        const Item cache = item(ItemKind::ldcache);
        auto parsed = elf::LdCache::parse(cache.as<LoaderCache>()->content);
        std::vector<std::string> paths;
        if (parsed)
            for (const elf::CacheEntry& entry : parsed->lookup(soname))
                paths.emplace_back(entry.value);
        return paths;
    }

    std::vector<std::string> decided() const { return skipped(compat); }
};

TEST_F(ImageCompatTest, ThatFitsIsFoundBeforeTheHosts)
{
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/local/cuda/compat/libcuda.so.1",
                                                   "/usr/lib/gpuctr/lib64/libcuda.so.1"));
    EXPECT_THAT(found("libnvidia-nvvm.so.4"),
                ElementsAre("/usr/local/cuda/compat/libnvidia-nvvm.so.4"));
    EXPECT_THAT(found("libnvidia-ml.so.1"), ElementsAre("/usr/lib/gpuctr/lib64/libnvidia-ml.so.1"));
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
    EXPECT_THAT(items({ItemKind::bind}), Not(Contains(HasSubstr(compat))));
    EXPECT_THAT(decided(), ElementsAre("/usr/local/cuda/compat/libcuda.so.1: programs find the "
                                       "image's libcuda.so.1 (CUDA 13.1), which is newer than the "
                                       "host's"));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ImageCompatTest, ThatIsUsedHasNoLinkThatImagesSearchBeforeTheCache)
{
    const std::string link = "symlink created: /usr/lib/gpuctr -> /usr/local/nvidia";
    EXPECT_THAT(items({ItemKind::symlink}), Not(Contains(link)));
    request_.compat = Compat::never;
    EXPECT_THAT(items({ItemKind::symlink}), Contains(link));
}

TEST_F(ImageCompatTest, ThatIsUsedStaysAfterALaterLdconfig)
{
    EXPECT_EQ(content_of(item(ItemKind::file)), "/usr/local/cuda/compat\n/usr/lib/gpuctr/lib64\n");
    request_.compat = Compat::never;
    EXPECT_EQ(content_of(item(ItemKind::file)), "/usr/lib/gpuctr/lib64\n");
}

TEST_F(ImageCompatTest, ThatDoesNotFitIsCoveredAndNotInTheCache)
{
    image_cache({{"libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1"},
                 {"libnvidia-nvvm.so.4", "/usr/local/cuda/compat/libnvidia-nvvm.so.4"},
                 {"libc.so.6", "/lib/libc.so.6"}});
    driver_.gpus[1].model = "NVIDIA GeForce RTX 3090";
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/lib/gpuctr/lib64/libcuda.so.1"));
    EXPECT_THAT(found("libnvidia-nvvm.so.4"), IsEmpty());
    EXPECT_THAT(found("libc.so.6"), ElementsAre("/lib/libc.so.6"));
    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre("cover there: /drv/lib/libcuda.so.580.1 -> "
                            "/usr/local/cuda/compat/libcuda.so.1 ro,nosuid,nodev"));
    EXPECT_THAT(decided(), ElementsAre("/usr/local/cuda/compat/libcuda.so.1: not used: it supports "
                                       "data-centre GPUs and the like, not GPU 1 (NVIDIA GeForce "
                                       "RTX 3090)"));

    request_.devices = "0";
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/local/cuda/compat/libcuda.so.1",
                                                   "/usr/lib/gpuctr/lib64/libcuda.so.1"));
}

TEST_F(ImageCompatTest, IsNotUsedIfSomebodySaysSo)
{
    request_.compat = Compat::never;
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/lib/gpuctr/lib64/libcuda.so.1"));
    EXPECT_THAT(decided(), ElementsAre("/usr/local/cuda/compat/libcuda.so.1: not used, as asked "
                                       "for"));

    // Even if the host's is not there.
    image_cache({{"libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1"}});
    request_.capabilities = "utility";
    EXPECT_THAT(found("libcuda.so.1"), IsEmpty());
    request_.compat = Compat::automatic;
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/local/cuda/compat/libcuda.so.1"));
}

TEST_F(ImageCompatTest, IsUsedAgainstTheRulesWithAWarning)
{
    request_.compat = Compat::always;
    EXPECT_THAT(warnings(), IsEmpty());
    driver_.version = "590.48.01";
    EXPECT_THAT(warnings(), ElementsAre("/usr/local/cuda/compat: programs find the image's "
                                        "libcuda.so.1, as asked for, and it may fail: the host's "
                                        "driver 590.48.01 supports CUDA 13.1 itself"));
    EXPECT_EQ(found("libcuda.so.1").front(), "/usr/local/cuda/compat/libcuda.so.1");
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());

    request_.compat = Compat::automatic;
    EXPECT_THAT(warnings(), IsEmpty());
    EXPECT_EQ(found("libcuda.so.1").front(), "/usr/lib/gpuctr/lib64/libcuda.so.1");
}

TEST_F(ImageCompatTest, ThatNothingCanLoadIsNeverUsed)
{
    request_.compat = Compat::always;
    const std::string file = std::string(compat) + "/libcuda.so.1";
    const auto is_left = [&](const std::string& why) {
        EXPECT_THAT(decided(), ElementsAre(HasSubstr("not used: " + why)));
        EXPECT_EQ(found("libcuda.so.1").front(), "/usr/lib/gpuctr/lib64/libcuda.so.1");
    };
    root_.file(file, "no ELF file");
    is_left("its libcuda.so.1 is no such library for this machine");
    root_.file(file, test::noted_library("libcuda.so.2", ""));
    is_left("its libcuda.so.1 is no such library for this machine");
    test::ElfImage<test::Elf32> narrow;
    narrow.add(DT_SONAME, narrow.string("libcuda.so.1"));
    root_.file(file, narrow.bytes());
    is_left("its libcuda.so.1 is no such library for this machine");
    std::string many;
    for (int i = 0; i < 65; ++i)
        many += test::note("NVIDIA Corporation", note);
    root_.file(file, test::noted_library("libcuda.so.1", many));
    is_left("its libcuda.so.1: too many notes");
}

TEST_F(ImageCompatTest, ThatIsNoFileIsNeverUsed)
{
    request_.compat = Compat::always;
    root_.remove(std::string(compat) + "/libcuda.so.1");
    EXPECT_THAT(decided(), IsEmpty());
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/lib/gpuctr/lib64/libcuda.so.1"));
}

TEST_F(ImageCompatTest, ItsDirectoriesAreFoundByTheCacheAndTheVariable)
{
    root_.remove("/usr/local/cuda");
    root_.remove(compat);
    add("/opt/cuda-13/compat");
    EXPECT_THAT(found("libcuda.so.1"), ElementsAre("/usr/lib/gpuctr/lib64/libcuda.so.1"));
    image_cache({{"libcuda.so.1", "/opt/cuda-13/compat/libcuda.so.1"}});
    EXPECT_EQ(found("libcuda.so.1").front(), "/opt/cuda-13/compat/libcuda.so.1");
    root_.remove("/etc/ld.so.cache");
    request_.container = {{"LD_LIBRARY_PATH", "/opt/cuda-13/compat/:/usr/lib"}};
    EXPECT_EQ(found("libcuda.so.1").front(), "/opt/cuda-13/compat/libcuda.so.1");
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ImageCompatTest, OfSeveralTheFirstThatFitsIsUsed)
{
    add("/usr/local/cuda-12.9/compat",
        R"({"Format": 1, "CUDA Version": "12.9", "Driver": [580], "Device": [14]})");
    add("/usr/local/cuda-13.1/compat");
    root_.remove(compat);
    EXPECT_EQ(found("libcuda.so.1").front(), "/usr/local/cuda-13.1/compat/libcuda.so.1");
    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre(HasSubstr("-> /usr/local/cuda-12.9/compat/libcuda.so.1")));
}

TEST_F(ImageCompatTest, AVariableThatDefeatsTheDecisionIsAWarning)
{
    root_.directory("/opt/mine");
    root_.file("/opt/mine/libcuda.so.1");
    request_.container = {{"LD_LIBRARY_PATH", "/opt/none:/opt/mine"}};
    EXPECT_THAT(warnings(),
                ElementsAre("LD_LIBRARY_PATH: has /opt/mine, where programs find another "
                            "libcuda.so.1 before that in /usr/local/cuda/compat"));
    request_.compat = Compat::never;
    EXPECT_THAT(warnings(), ElementsAre("LD_LIBRARY_PATH: has /opt/mine, where programs find "
                                        "another libcuda.so.1 before the host's"));

    // The host's libraries are there, or will be.
    request_.container = {{"LD_LIBRARY_PATH", "/usr/local/cuda/compat:/opt/mine"}};
    EXPECT_THAT(warnings(), IsEmpty());
    request_.container = {{"LD_LIBRARY_PATH", "/usr/lib/gpuctr/lib64"}};
    EXPECT_THAT(warnings(), IsEmpty());
    request_.compat = Compat::automatic;
    EXPECT_THAT(warnings(),
                ElementsAre("LD_LIBRARY_PATH: has /usr/lib/gpuctr/lib64, where programs find the "
                            "host's libcuda.so.1 before that in /usr/local/cuda/compat"));
    request_.container = {{"LD_LIBRARY_PATH", "/usr/local/cuda/compat:/usr/lib/gpuctr/lib64"}};
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(ImageCompatTest, APathThatTheLoaderWouldMisreadIsNotTaken)
{
    root_.remove(compat);
    for (const char* path : {"/opt/a b/compat", "/opt/a\nb/compat", "/opt/$LIB/compat"}) {
        add(path);
        image_cache({{"libcuda.so.1", std::string(path) + "/libcuda.so.1"}});
        EXPECT_EQ(found("libcuda.so.1").front(), "/usr/lib/gpuctr/lib64/libcuda.so.1") << path;
    }
}

TEST_F(ImageCompatTest, PlansThatDecideDifferentlyAreNotTheSame)
{
    const std::string used = made().identity;
    request_.compat = Compat::never;
    const std::string never = made().identity;
    EXPECT_NE(used, never);
    EXPECT_EQ(never, made().identity);
}

} // namespace
} // namespace gpucontainer::plan
