// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "config/library_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<FileRule>& rules)
{
    std::vector<std::string> all;
    for (const FileRule& rule : rules)
        all.push_back(base::format("{}: {} {} {} {}", rule.line,
                                   rule.kind == FileRule::Kind::tool ? "tool" : "library",
                                   rule.name, rule.capability, rule.unversioned));
    return all;
}

TEST(LibraryList, TellsLibrariesFromToolsAndPaths)
{
    const auto list = parse_library_list("# libraries\n\n  libcuda.so\t\nnvidia-smi\r\n"
                                         "libnvoptix.so.1\n/usr/share/nvidia/nvoptix.bin\n"
                                         "/opt/lib/libx.so\n",
                                         "nvidia");

    ASSERT_TRUE(list) << list.error().message();
    EXPECT_THAT(texts(list->rules), ElementsAre("3: library libcuda.so compute true",
                                                "4: tool nvidia-smi compute false",
                                                "5: library libnvoptix.so.1 compute true"));
    EXPECT_THAT(list->paths, ElementsAre("/usr/share/nvidia/nvoptix.bin", "/opt/lib/libx.so"));
}

TEST(LibraryList, TakesAFileOnce)
{
    const auto list = parse_library_list("libcuda.so\nlibcuda.so.1\nlibcuda.so\n", "nvidia");

    ASSERT_TRUE(list) << list.error().message();
    EXPECT_THAT(texts(list->rules), ElementsAre("1: library libcuda.so compute true"));
}

TEST(LibraryList, NamesTheLineOfWhatNoFileIsCalled)
{
    const auto problem = [](std::string_view text) {
        const auto list = parse_library_list(text, "nvidia");
        return list ? "" : list.error().message();
    };

    EXPECT_THAT(problem("libcuda.so\nlib x.so\n"),
                ::testing::HasSubstr("line 2: name \"lib x.so\""));
    EXPECT_THAT(problem("../libx.so\n"), ::testing::HasSubstr("line 1: name"));
    EXPECT_THAT(problem("\x1b[2J\n"), ::testing::HasSubstr("line 1: name \"?[2J\""));
    EXPECT_EQ(problem(std::string(5000, '\n')), "more than 4096 lines");
}

} // namespace
} // namespace gpucontainer::config
