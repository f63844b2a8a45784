// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"

#include "base/file.hpp"
#include "support/temp_root.hpp"
#include "unit/elf/cache_image.hpp"
#include "unit/elf/command.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace gpucontainer::elf {
namespace {

using test::CacheImage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string example(std::string_view name)
{
    const auto path = std::filesystem::path(GPUCTR_TEST_SOURCE_DIR) / "unit/elf/data" / name;
    return *base::read_file(path);
}

std::string problem_of(const std::string& bytes)
{
    const auto cache = LdCache::parse(bytes);
    return cache ? "" : cache.error().message();
}

std::vector<std::string> paths_of(const std::vector<CacheEntry>& entries)
{
    std::vector<std::string> paths;
    paths.reserve(entries.size());
    for (const CacheEntry& entry : entries)
        paths.emplace_back(entry.value);
    return paths;
}

/// Uses everything that a cache offers.
std::size_t touch(const LdCache& cache)
{
    std::size_t size = cache.generator().size() + cache.lookup("libc.so.6").size();
    for (const CacheEntry& entry : cache.entries())
        size += entry.key.size() + entry.value.size() + entry.hwcaps_name.size();
    return size;
}

CacheImage two_libraries()
{
    CacheImage image;
    image.add("libz.so.1", "/usr/lib/libz.so.1");
    image.add("liba.so.2", "/usr/lib/liba.so.2");
    return image;
}

class LocalCacheTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const auto bytes = base::read_file("/etc/ld.so.cache", max_cache_size);
        if (!bytes)
            GTEST_SKIP() << bytes.error().message();
        bytes_ = *bytes;
    }

    std::string bytes_;
};

TEST_F(LocalCacheTest, HoldsWhatLdconfigPrints)
{
    const auto printed = test::parse_printed_cache(test::run_command("ldconfig -p").output);
    const auto cache = LdCache::parse(bytes_);
    ASSERT_TRUE(cache) << cache.error().message();

    std::vector<std::pair<std::string, std::string>> expected;
    expected.reserve(printed.size());
    for (const auto& entry : printed)
        expected.emplace_back(entry.key, entry.path);
    std::vector<std::pair<std::string, std::string>> found;
    for (const CacheEntry& entry : cache->entries())
        found.emplace_back(entry.key, entry.value);

    EXPECT_FALSE(printed.empty());
    EXPECT_EQ(found, expected);
    EXPECT_THAT(std::string(cache->generator()), HasSubstr("ldconfig"));
}

TEST_F(LocalCacheTest, FindsEveryEntryOfThisMachine)
{
    const auto cache = LdCache::parse(bytes_);
    ASSERT_TRUE(cache);

    for (const CacheEntry& entry : cache->entries()) {
        if (entry.flags == native_cache_flags) {
            EXPECT_THAT(paths_of(cache->lookup(entry.key)),
                        ::testing::Contains(std::string(entry.value)));
        }
    }
    EXPECT_THAT(cache->lookup("libc.so.5"), IsEmpty());
    EXPECT_THAT(cache->lookup(""), IsEmpty());
}

TEST_F(LocalCacheTest, FindsTheCLibraryWhereTheLoaderDoes)
{
    const auto cache = LdCache::parse(bytes_);
    ASSERT_TRUE(cache);
    const auto printed = test::parse_printed_cache(test::run_command("ldconfig -p").output);
    const auto first = std::find_if(printed.begin(), printed.end(),
                                    [](const auto& entry) { return entry.key == "libc.so.6"; });
    ASSERT_NE(first, printed.end());

    const auto found = cache->lookup("libc.so.6");

    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().value, first->path);
}

TEST_F(LocalCacheTest, SurvivesTruncation)
{
    for (std::size_t size = 0; size < bytes_.size(); size += 7) {
        if (const auto cache = LdCache::parse(bytes_.substr(0, size)))
            touch(*cache);
    }
}

TEST_F(LocalCacheTest, SurvivesFlippedBits)
{
    std::mt19937 random(20'240'607);
    for (int round = 0; round < 1000; ++round) {
        std::string spoilt = bytes_;
        for (int flip = 0; flip < 8; ++flip) {
            const std::size_t range = flip < 2 ? sizeof(format::Header) : spoilt.size();
            const std::size_t at = random() % range;
            spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << random() % 8));
        }
        if (const auto cache = LdCache::parse(spoilt))
            touch(*cache);
    }
}

TEST(LdCache, ReadsGlibcHwcapsDirectories)
{
    const auto cache = LdCache::parse(example("new.cache"));
    ASSERT_TRUE(cache) << cache.error().message();

    const auto found = cache->lookup("libcuda.so.1", 0x0303);

    ASSERT_EQ(found.size(), 5U);
    EXPECT_EQ(found[0].hwcaps_name, "x86-64-v2");
    EXPECT_EQ(found[0].value, "/usr/lib/glibc-hwcaps/x86-64-v2/libcuda.so.1");
    EXPECT_EQ(found[1].hwcaps_name, "x86-64-v3");
    EXPECT_EQ(found[3].hwcaps_name, "");
    EXPECT_EQ(found[3].value, "/opt/x/lib/libcuda.so.1");
}

TEST(LdCache, ReadsAllFormats)
{
    const auto modern = LdCache::parse(example("new.cache"));
    const auto both = LdCache::parse(example("compat.cache"));
    const auto old = LdCache::parse(example("old.cache"));
    ASSERT_TRUE(modern && both && old);

    EXPECT_EQ(paths_of(modern->entries()), paths_of(both->entries()));
    EXPECT_EQ(both->lookup("libother.so.2", 0x0303).front().hwcaps_name, "x86-64-v3");
    EXPECT_EQ(both->generator(), modern->generator());
    EXPECT_EQ(old->size(), 9U);
    EXPECT_EQ(old->entries().size(), 9U);
    EXPECT_EQ(old->lookup("libother.so.10", 0x0303).front().value, "/usr/lib/libother.so.10");
    EXPECT_EQ(old->generator(), "");
}

TEST(LdCache, SelectsByFlags)
{
    const auto cache = LdCache::parse(example("new.cache"));
    ASSERT_TRUE(cache);

    EXPECT_THAT(paths_of(cache->lookup("libother.so.2", 1)),
                ElementsAre("/opt/x/lib/libother.so.2"));
    EXPECT_THAT(cache->lookup("libother.so.2", 0x0a03), IsEmpty());
}

TEST(LdCache, ExamplesSurviveEveryTruncation)
{
    for (const char* name : {"new.cache", "compat.cache", "old.cache"}) {
        const std::string bytes = example(name);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            if (const auto cache = LdCache::parse(bytes.substr(0, size)))
                touch(*cache);
        }
    }
}

TEST(LdCache, RefusesWhatIsNoCache)
{
    EXPECT_EQ(problem_of(""), "loader cache: unknown format");
    EXPECT_EQ(problem_of(std::string(100, 'x')), "loader cache: unknown format");
    EXPECT_EQ(problem_of(two_libraries().bytes().substr(0, 47)),
              "loader cache: ends within the header");
    EXPECT_EQ(problem_of("ld.so-1.7.0"), "loader cache: ends within the header");
    EXPECT_EQ(problem_of(std::string(max_cache_size + 1, '\0')), "loader cache: too large");
}

TEST(LdCache, RefusesTablesThatDoNotFit)
{
    CacheImage image = two_libraries();
    image.bytes();
    image.header.count = UINT32_MAX;
    EXPECT_EQ(problem_of(image.raw_bytes()), "loader cache: 4294967295 entries do not fit");

    image.header.count = 6;
    EXPECT_EQ(problem_of(image.raw_bytes()), "loader cache: 6 entries do not fit");

    image.header.count = 2;
    image.header.strings_size += 1;
    EXPECT_EQ(problem_of(image.raw_bytes()), "loader cache: strings do not fit");

    std::string old = "ld.so-1.7.0";
    old.append(1, '\0').append(4, '\377').append(64, 'x');
    EXPECT_EQ(problem_of(old), "loader cache: 4294967295 entries do not fit");
}

TEST(LdCache, RefusesTooManyEntries)
{
    CacheImage image;
    image.string("x");
    image.entries.resize(max_cache_entries + 1);

    EXPECT_EQ(problem_of(image.bytes()), "loader cache: too many entries");
}

TEST(LdCache, RefusesAForeignByteOrder)
{
    CacheImage image = two_libraries();
    image.header.byte_order = image.header.byte_order ^ 1U;
    EXPECT_EQ(problem_of(image.bytes()), "loader cache: foreign byte order");

    image.header.byte_order = 0;
    EXPECT_EQ(problem_of(image.bytes()), "");
}

TEST(LdCache, LeavesOutEntriesThatPointOutside)
{
    CacheImage image = two_libraries();
    const auto end = static_cast<std::uint32_t>(image.strings.size());
    image.entries.push_back({native_cache_flags, end, 0, 0, 0});
    image.entries.push_back({native_cache_flags, 0, UINT32_MAX / 2, 0, 0});
    image.entries.push_back({native_cache_flags, 0 - 24U, 0, 0, 0});
    image.entries.push_back({native_cache_flags, 0, 0, 0, std::uint64_t{1} << 62U});

    const auto cache = LdCache::parse(image.bytes());

    ASSERT_TRUE(cache);
    EXPECT_EQ(cache->size(), 6U);
    EXPECT_EQ(cache->entries().size(), 2U);
    EXPECT_FALSE(cache->at(2));
    EXPECT_FALSE(cache->at(6));
}

TEST(LdCache, LeavesOutStringsWithoutAnEnd)
{
    CacheImage image = two_libraries();
    image.strings.pop_back();

    const auto cache = LdCache::parse(image.bytes());

    ASSERT_TRUE(cache);
    EXPECT_THAT(paths_of(cache->entries()), ElementsAre("/usr/lib/libz.so.1"));
    EXPECT_THAT(cache->lookup("liba.so.2"), IsEmpty());
}

TEST(LdCache, LooksThroughADisorderlyCacheWithoutHarm)
{
    CacheImage image;
    for (const char* name : {"liba.so", "libz.so", "libb.so", "liby.so", "libc.so"})
        image.add(name, "/lib");

    const auto cache = LdCache::parse(image.bytes());

    ASSERT_TRUE(cache);
    EXPECT_EQ(cache->entries().size(), 5U);
    EXPECT_THAT(cache->lookup("liba.so"), IsEmpty());
}

TEST(LdCache, LimitsTheEntriesOfOneName)
{
    CacheImage image;
    for (int i = 0; i < 10'000; ++i)
        image.add("libz.so.1", "/lib");

    EXPECT_EQ(LdCache::parse(image.bytes())->lookup("libz.so.1").size(), 256U);
}

TEST(LdCache, RefusesHostileExtensions)
{
    constexpr std::uint32_t magic = format::extension_magic;
    CacheImage image = two_libraries();
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 0})), "");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic})),
              "loader cache: extensions out of place");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic + 1, 0})),
              "loader cache: extensions without their magic number");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1U << 31U})),
              "loader cache: 2147483648 extensions do not fit");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1, 0, 0, 0})),
              "loader cache: 1 extensions do not fit");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1, 0, 0, 4, UINT32_MAX})),
              "loader cache: extension outside the file");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1, 1, 0, 2, 4})),
              "loader cache: list of glibc-hwcaps directories is invalid");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1, 1, 0, 4, 5})),
              "loader cache: list of glibc-hwcaps directories is invalid");
    EXPECT_EQ(problem_of(image.bytes_with_extensions({magic, 1, 7, 0, 2, 5})), "");

    image.header.extensions = 50;
    EXPECT_EQ(problem_of(image.bytes()), "loader cache: extensions out of place");
    image.header.extensions = UINT32_MAX - 3;
    EXPECT_EQ(problem_of(image.bytes()), "loader cache: extensions out of place");
}

TEST(LdCache, IsNotReadFromAHugeSparseFile)
{
    test::TempRoot root;
    root.file("cache", two_libraries().bytes());
    std::filesystem::resize_file(root.at("cache"), std::uintmax_t{10} << 30U);

    const auto bytes = base::read_file(root.at("cache"), max_cache_size);

    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().os_error(), EFBIG);
}

TEST(LdCache, SurvivesAFileThatShrinksMeanwhile)
{
    test::TempRoot root;
    CacheImage image;
    for (int i = 2000; i > 0; --i)
        image.add("lib" + std::to_string(i), "/usr/lib/lib" + std::to_string(i));
    const std::string full = image.bytes();
    root.file("cache", full);
    std::atomic<bool> done = false;
    std::thread spoiler([&] {
        while (!done) {
            std::filesystem::resize_file(root.at("cache"), 100);
            std::ofstream(root.at("cache"), std::ios::binary) << full;
        }
    });

    for (int round = 0; round < 10'000; ++round) {
        auto bytes = base::read_file(root.at("cache"), max_cache_size);
        if (!bytes)
            continue;
        if (const auto cache = LdCache::parse(*std::move(bytes)))
            touch(*cache);
    }
    done = true;
    spoiler.join();
}

TEST(CompareNames, ComparesNumbersAsNumbers)
{
    EXPECT_LT(compare_names("libz.so.2", "libz.so.10"), 0);
    EXPECT_GT(compare_names("libz.so.10", "libz.so.9"), 0);
    EXPECT_EQ(compare_names("libz.so.01", "libz.so.1"), 0);
    EXPECT_GT(compare_names("libz1.so", "libz.so"), 0);
    EXPECT_LT(compare_names("libz", "libz.so"), 0);
    EXPECT_GT(compare_names("libz.so", "libz"), 0);
    EXPECT_GT(compare_names("libz12", "libz1.so"), 0);
    EXPECT_GT(compare_names("libz.so.105", "libz.so.15"), 0);
    EXPECT_LT(compare_names("lib1a2", "lib1b1"), 0);
    EXPECT_EQ(compare_names("", ""), 0);
    EXPECT_EQ(compare_names("libz.so.4294967297", "libz.so.1"), 0);
}

} // namespace
} // namespace gpucontainer::elf
