// SPDX-License-Identifier: MIT
// What the loader itself makes of a merged cache.

#include "elf/ld_cache_writer.hpp"

#include "base/file.hpp"
#include "elf/facts.hpp"
#include "support/temp_root.hpp"
#include "unit/elf/command.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::elf {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const enter = "unshare --user --map-root-user --mount --propagation private ";

class LoaderTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const auto probe = test::run_command(
            enter + std::string("mount --bind /etc/ld.so.cache /etc/ld.so.cache"));
        const char* ci = std::getenv("CI");
        if (probe.status != 0 && (ci == nullptr || std::string_view(ci) != "true"))
            GTEST_SKIP() << "cannot mount in a namespace here: " << probe.output;
        ASSERT_EQ(probe.status, 0) << probe.output;

        const auto bytes = base::read_file("/etc/ld.so.cache", max_cache_size);
        ASSERT_TRUE(bytes) << bytes.error().message();
        auto cache = LdCache::parse(*bytes);
        ASSERT_TRUE(cache) << cache.error().message();
        cache_.emplace(*std::move(cache));
        const auto found = cache_->lookup("libelf.so.1");
        ASSERT_FALSE(found.empty());
        original_ = found.front().value;
        std::filesystem::copy_file(original_, ours_);
    }

    /// What the loader says about this program, which needs libelf, when
    /// `bytes` are the cache.
    std::string list_with(const std::string& bytes)
    {
        root_.file("cache", bytes);
        const base::UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
        const std::string loader = read_facts(self.get())->interpreter;
        const std::string program = std::filesystem::read_symlink("/proc/self/exe");
        return test::run_command(std::string(enter) + "sh -c 'mount --bind "
                                 + root_.at("cache").string() + " /etc/ld.so.cache && " + loader
                                 + " --list " + program + "'")
            .output;
    }

    std::optional<LdCache> cache_;
    test::TempRoot root_;
    std::string original_;
    std::string ours_ = root_.at("libelf.so.1");
};

TEST_F(LoaderTest, FindsOurLibraryFirst)
{
    const auto merged = merge(&*cache_, {{"libelf.so.1", ours_}});
    ASSERT_TRUE(merged) << merged.error().message();

    const std::string list = list_with(merged->bytes);

    EXPECT_THAT(list, HasSubstr("libelf.so.1 => " + ours_));
    EXPECT_THAT(list, HasSubstr("libc.so.6 => /"));
    EXPECT_THAT(list, Not(HasSubstr("not found")));
}

TEST_F(LoaderTest, FindsTheOriginalAgainWithoutOurs)
{
    const auto merged = merge(&*cache_, {{"libelf.so.1", ours_}});
    ASSERT_TRUE(merged) << merged.error().message();
    const auto undone = without(*LdCache::parse(merged->bytes), root_.at("").string());
    ASSERT_TRUE(undone) << undone.error().message();

    EXPECT_THAT(list_with(*undone), HasSubstr("libelf.so.1 => " + original_));
}

TEST_F(LoaderTest, FindsOurLibraryInACacheOfOursAlone)
{
    const auto merged = merge(nullptr, {{"libelf.so.1", ours_}});
    ASSERT_TRUE(merged) << merged.error().message();

    EXPECT_THAT(list_with(merged->bytes), HasSubstr("libelf.so.1 => " + ours_));
}

} // namespace
} // namespace gpucontainer::elf
