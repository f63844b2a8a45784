// SPDX-License-Identifier: MIT
#include "elf/ld_cache_writer.hpp"

#include "base/file.hpp"
#include "support/temp_root.hpp"
#include "unit/elf/cache_image.hpp"
#include "unit/elf/command.hpp"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace gpucontainer::elf {
namespace {

using test::CacheImage;
using test::PrintedEntry;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LdCache example(std::string_view name = "new.cache")
{
    const auto path = std::filesystem::path(GPUCTR_TEST_SOURCE_DIR) / "unit/elf/data" / name;
    return *LdCache::parse(*base::read_file(path));
}

/// "key => path [directory]" of every entry.
std::vector<std::string> lines_of(const LdCache& cache)
{
    std::vector<std::string> lines;
    for (const CacheEntry& entry : cache.entries()) {
        std::string line = std::string(entry.key) + " => " + std::string(entry.value);
        if (!entry.hwcaps_name.empty())
            line += " [" + std::string(entry.hwcaps_name) + "]";
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<std::string> lines_of(const std::string& bytes)
{
    const auto cache = LdCache::parse(bytes);
    return cache ? lines_of(*cache) : std::vector<std::string>{cache.error().message()};
}

std::string merged(const LdCache* old, const std::vector<NewCacheEntry>& ours)
{
    auto result = merge(old, ours);
    return result ? (*std::move(result)).bytes : result.error().message();
}

std::vector<PrintedEntry> printed_by_ldconfig(const std::string& bytes)
{
    test::TempRoot root;
    root.file("cache", bytes);
    return test::parse_printed_cache(
        test::run_command("ldconfig -p -C " + root.at("cache").string()).output);
}

TEST(MergeCache, MakesACacheFromNothing)
{
    const std::string bytes = merged(nullptr, {{"libcuda.so.1", "/gpu/libcuda.so.1"},
                                               {"libz.so", "/gpu/libzet.so.3.1"},
                                               {"libcuda.so", "/gpu/libcuda.so"}});

    EXPECT_THAT(lines_of(bytes),
                ElementsAre("libz.so => /gpu/libzet.so.3.1", "libcuda.so.1 => /gpu/libcuda.so.1",
                            "libcuda.so => /gpu/libcuda.so"));
    EXPECT_EQ(LdCache::parse(bytes)->generator(), "libgpucontainer");
    EXPECT_THAT(lines_of(merged(nullptr, {})), IsEmpty());
}

TEST(MergeCache, PutsOursFirstAndKeepsAllElse)
{
    const LdCache old = example();

    const auto result = merge(&old, {{"libcuda.so.1", "/gpu/libcuda.so.1", 0x0303},
                                     {"libother.so.3", "/gpu/libother.so.3", 0x0303}});

    ASSERT_TRUE(result) << result.error().message();
    EXPECT_THAT(
        lines_of(result->bytes),
        ElementsAre(
            "libother.so.10 => /usr/lib/libother.so.10", "libother.so.3 => /gpu/libother.so.3",
            "libother.so.2 => /usr/lib/glibc-hwcaps/x86-64-v3/libother.so.2 [x86-64-v3]",
            "libother.so.2 => /usr/lib/libother.so.2", "libother.so.2 => /opt/x/lib/libother.so.2",
            "libcuda.so.1 => /gpu/libcuda.so.1", "libcuda.so.1 => /opt/x/lib/libcuda.so.1",
            "libcuda.so.1 => /usr/lib/libcuda.so.1"));
    EXPECT_EQ(LdCache::parse(result->bytes)->generator(), old.generator());
}

TEST(MergeCache, ReportsTheHwcapsEntriesItDrops)
{
    const LdCache old = example();

    const auto result = merge(&old, {{"libother.so.2", "/gpu/libother.so.2", 0x0303}});

    ASSERT_TRUE(result) << result.error().message();
    ASSERT_EQ(result->dropped.size(), 1U);
    EXPECT_EQ(result->dropped.front().key, "libother.so.2");
    EXPECT_EQ(result->dropped.front().path, "/usr/lib/glibc-hwcaps/x86-64-v3/libother.so.2");
    EXPECT_EQ(result->dropped.front().hwcaps_name, "x86-64-v3");
}

TEST(MergeCache, ChangesNothingWithoutEntries)
{
    for (const char* name : {"new.cache", "compat.cache", "old.cache"}) {
        const LdCache old = example(name);
        EXPECT_EQ(lines_of(merged(&old, {})), lines_of(old)) << name;
    }
}

TEST(MergeCache, LeavesOtherMachinesAlone)
{
    CacheImage image;
    image.add("libcuda.so.1", "/usr/lib32/libcuda.so.1", 0x7f03);
    image.add("libcuda.so.1", "/usr/lib/libcuda.so.1");
    image.add("libcuda.so.1", "/usr/old/libcuda.so.1", 1);
    image.entries.back().os_version = 7;
    const auto old = LdCache::parse(image.bytes());

    const std::string bytes = merged(&*old, {{"libcuda.so.1", "/gpu/libcuda.so.1"}});

    EXPECT_THAT(lines_of(bytes), ElementsAre("libcuda.so.1 => /usr/lib32/libcuda.so.1",
                                             "libcuda.so.1 => /gpu/libcuda.so.1",
                                             "libcuda.so.1 => /usr/lib/libcuda.so.1",
                                             "libcuda.so.1 => /usr/old/libcuda.so.1"));
    EXPECT_EQ(LdCache::parse(bytes)->at(0)->flags, 0x7f03);
    EXPECT_EQ(LdCache::parse(bytes)->at(3)->os_version, 7U);
}

TEST(MergeCache, DoesNotRepeatAnEntry)
{
    const std::vector<NewCacheEntry> ours = {{"libcuda.so.1", "/gpu/libcuda.so.1"},
                                             {"libcuda.so.1", "/other/libcuda.so.1"},
                                             {"libcuda.so.1", "/gpu/libcuda.so.1"}};
    const std::string once = merged(nullptr, ours);
    const auto cache = LdCache::parse(once);

    const std::string twice = merged(&*cache, ours);

    EXPECT_THAT(lines_of(once), ElementsAre("libcuda.so.1 => /gpu/libcuda.so.1",
                                            "libcuda.so.1 => /other/libcuda.so.1"));
    EXPECT_EQ(lines_of(twice), lines_of(once));
}

TEST(MergeCache, PutsADisorderlyCacheInOrder)
{
    CacheImage image;
    for (const char* name : {"liba.so", "libz.so", "libb.so", "liby.so", "libc.so"})
        image.add(name, "/lib");
    image.entries.push_back({native_cache_flags, 1U << 20U, 0, 0, 0});
    const auto old = LdCache::parse(image.bytes());

    const auto cache = LdCache::parse(merged(&*old, {{"libm.so", "/gpu/libm.so"}}));

    EXPECT_THAT(lines_of(*cache),
                ElementsAre("libz.so => /lib", "liby.so => /lib", "libm.so => /gpu/libm.so",
                            "libc.so => /lib", "libb.so => /lib", "liba.so => /lib"));
    EXPECT_EQ(cache->lookup("liba.so").size(), 1U);
}

TEST(MergeCache, EndsWhatTheOldStringsLeftOpen)
{
    CacheImage image;
    image.add("liba.so", "/lib");
    image.strings.append("/never/ends");
    const auto old = LdCache::parse(image.bytes());

    EXPECT_THAT(lines_of(merged(&*old, {{"libz.so", "/gpu/libz.so"}})),
                ElementsAre("libz.so => /gpu/libz.so", "liba.so => /lib"));
}

TEST(MergeCache, RefusesWhatTheLoaderCannotUse)
{
    using std::string_literals::operator""s;
    EXPECT_EQ(merged(nullptr, {{"", "/x"}}), "loader cache: \"\" is no soname");
    EXPECT_EQ(merged(nullptr, {{"a/b", "/x"}}), "loader cache: \"a/b\" is no soname");
    EXPECT_EQ(merged(nullptr, {{"a", "x"}}), "loader cache: \"x\" is no absolute path");
    EXPECT_THAT(merged(nullptr, {{"a", "/x\0y"s}}), HasSubstr("is no absolute path"));
    EXPECT_THAT(merged(nullptr, {{std::string(256, 'a'), "/x"}}), HasSubstr("is no soname"));
}

TEST(MergeCache, SurvivesSpoiltCaches)
{
    const auto path = std::filesystem::path(GPUCTR_TEST_SOURCE_DIR) / "unit/elf/data/new.cache";
    const std::string bytes = *base::read_file(path);
    const std::string ours = "/gpu/libcuda.so.1";
    std::mt19937 random(20'240'607);

    for (int round = 0; round < 20'000; ++round) {
        std::string spoilt = bytes;
        for (int flip = 0; flip < 4; ++flip) {
            const std::size_t at = random() % spoilt.size();
            spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << random() % 8));
        }
        const auto old = LdCache::parse(spoilt);
        if (!old)
            continue;
        const auto cache = LdCache::parse(merged(&*old, {{"libcuda.so.1", ours}}));
        ASSERT_TRUE(cache) << cache.error().message();
        const auto found = cache->lookup("libcuda.so.1");
        ASSERT_FALSE(found.empty());
        ASSERT_EQ(found.front().value, ours);
        ASSERT_TRUE(without(*old, "/usr"));
    }
}

TEST(MergeCache, IsUnderstoodByLdconfig)
{
    const auto bytes = base::read_file("/etc/ld.so.cache", max_cache_size);
    if (!bytes)
        GTEST_SKIP() << bytes.error().message();
    const auto old = LdCache::parse(*bytes);
    const auto before = printed_by_ldconfig(*bytes);
    const std::vector<NewCacheEntry> ours = {{"libc.so.6", "/gpu/libc.so.6"},
                                             {"libgpu-only.so.1", "/gpu/libgpu-only.so.1"}};

    auto after = printed_by_ldconfig(merged(&*old, ours));

    const auto first = std::find_if(after.begin(), after.end(),
                                    [](const auto& entry) { return entry.key == "libc.so.6"; });
    ASSERT_NE(first, after.end());
    EXPECT_EQ(first->path, "/gpu/libc.so.6");
    EXPECT_EQ(
        std::erase_if(after, [](const auto& entry) { return entry.path.starts_with("/gpu/"); }),
        2U);
    EXPECT_FALSE(before.empty());
    EXPECT_EQ(after, before);
}

TEST(MergeCache, KeepsHwcapsThatLdconfigUnderstands)
{
    const LdCache old = example();

    const auto printed =
        printed_by_ldconfig(merged(&old, {{"libcuda.so.1", "/gpu/libcuda.so.1", 0x0303}}));

    // Dropping the entries of x86-64-v2 has moved x86-64-v3 to index 0.
    const auto hwcaps = std::find_if(printed.begin(), printed.end(), [](const auto& entry) {
        return entry.description.find("x86-64-v3") != std::string::npos;
    });
    ASSERT_NE(hwcaps, printed.end());
    EXPECT_EQ(hwcaps->path, "/usr/lib/glibc-hwcaps/x86-64-v3/libother.so.2");
}

TEST(WithoutDirectory, RemovesOnlyWhatLiesBelow)
{
    CacheImage image;
    image.add("libz.so", "/gpu2/libz.so");
    image.add("liby.so", "/gpu/liby.so");
    image.add("libx.so", "/gpu/sub/libx.so");
    image.add("libw.so", "/usr/lib/libw.so");
    const auto cache = LdCache::parse(image.bytes());

    const auto bytes = without(*cache, "/gpu/");

    ASSERT_TRUE(bytes);
    EXPECT_THAT(lines_of(*bytes),
                ElementsAre("libz.so => /gpu2/libz.so", "libw.so => /usr/lib/libw.so"));
}

TEST(WithoutDirectory, UndoesAMerge)
{
    const LdCache old = example();
    const auto changed =
        LdCache::parse(merged(&old, {{"liba.so", "/gpu/liba.so"}, {"libz.so", "/gpu/libz.so"}}));

    const auto bytes = without(*changed, "/gpu");

    ASSERT_TRUE(bytes);
    EXPECT_EQ(lines_of(*bytes), lines_of(old));
    EXPECT_EQ(LdCache::parse(*bytes)->generator(), old.generator());
}

} // namespace
} // namespace gpucontainer::elf
