// SPDX-License-Identifier: MIT
#include "linking/files.hpp"

#include "linking/search_path.hpp"
#include "unit/linking/elf_library.hpp"
#include "unit/plan/fake_view.hpp"
#include "unit/rootfs/deep_view.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::linking {
namespace {

TEST(DeepFiles, AreLookedUpAsFarAsABudgetGoes)
{
    constexpr int many = 2000;
    const test::DeepView view;
    Files files(view);
    for (int i = 0; i < many; ++i)
        files.directory(test::DeepView::path(i) + "/none");
    EXPECT_TRUE(files.is_exhausted());
    EXPECT_LT(view.looks, std::size_t{many} * test::DeepView::depth / 2);
}

TEST(DeepFiles, AreLookedUpByWayOfTheirDirectory)
{
    constexpr unsigned many = 1000;
    const test::DeepView view;
    Files files(view);
    for (unsigned i = 0; i < many; ++i)
        files.at(test::DeepView::path(0) + "/" + std::to_string(i) + ".none");
    EXPECT_FALSE(files.is_exhausted());
    EXPECT_LE(view.looks, test::DeepView::depth + std::size_t{2} * many);
}

/// Nothing is looked up for a path that is too long; it takes memory.
TEST(DeepFiles, EndWithPathsThatAreTooLong)
{
    const test::DeepView view;
    Files files(view);
    for (int i = 0; i < 3000; ++i)
        files.directory("/" + std::to_string(i) + std::string(8000, 'x'));
    EXPECT_EQ(view.looks, 0U);
    EXPECT_TRUE(files.is_exhausted());
}

TEST(DeepFiles, EndASearchWithDirectoriesThatAreMissing)
{
    const test::DeepView view;
    Files files(view);
    const std::vector<std::string> path(1000, "/none/" + std::string(1000, 'x'));
    for (int i = 0; i < 20; ++i)
        existing_directories(files, {}, path, "");
    EXPECT_TRUE(files.is_exhausted());
}

TEST(DeepFiles, EndASearchSoonerIfPathsAreLong)
{
    const test::DeepView view;
    Files files(view);
    const std::string path(4000, 'x');
    int tries = 0;
    while (tries < 100'000 && files.may_try(path))
        ++tries;
    EXPECT_LT(tries, 100'000);
}

TEST(DeepFiles, AreKeptUpToSomeMegabytes)
{
    constexpr std::size_t limit = std::size_t{32} << 20U;
    constexpr std::size_t names = 50;
    constexpr std::size_t length = 4000;
    test::ElfLibrary made;
    for (std::size_t i = 0; i < names; ++i)
        made.needed.push_back(std::to_string(i) + std::string(length - 10, 'n'));
    const std::string bytes = made.bytes();
    test::FakeView view;
    Files files(view);
    std::size_t count = 0;
    for (bool fits = true; fits && count < 1000; ++count) {
        const std::string path = "/usr/lib/lib" + std::to_string(count) + ".so";
        view.file(path, bytes);
        fits = files.at(path)->state == File::State::good;
        EXPECT_NE(files.is_exhausted(), fits);
    }
    EXPECT_LE(count, limit / (names * (length - 10)) + 1);
    EXPECT_GT(count, limit / (names * length) - 10);
}

} // namespace
} // namespace gpucontainer::linking
