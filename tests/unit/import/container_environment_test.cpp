// SPDX-License-Identifier: MIT
#include "import/container_environment.hpp"

#include "base/format.hpp"
#include "rootfs/root.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <sys/stat.h>

namespace gpucontainer::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ImageTest : public ::testing::Test {
protected:
    static Result<ContainerEnvironment> read(const test::TempRoot& image)
    {
        const auto fd = image.open();
        auto root = rootfs::Root::open(fd.get());
        EXPECT_TRUE(root);
        return read_image(*root);
    }

    Result<ContainerEnvironment> read() const { return read(image_); }

    Variables variables() const
    {
        auto environment = read();
        EXPECT_TRUE(environment) << environment.error().message();
        return environment ? environment->variables : Variables();
    }

    static std::string problem_of(const test::TempRoot& image)
    {
        const auto environment = read(image);
        return environment ? "no error" : environment.error().message();
    }

    std::string problem() const { return problem_of(image_); }

    test::TempRoot image_;
    test::TempRoot outside_;
};

TEST_F(ImageTest, MayHaveNone) { EXPECT_THAT(variables(), IsEmpty()); }

TEST_F(ImageTest, HasScriptsThatCountInTheirOrder)
{
    image_.file(".singularity.d/env/90-environment.sh", "export B=\"$A!\"\n. /x\n");
    image_.file(".singularity.d/env/10-docker2singularity.sh", "export A=\"${A:-\"all\"}\"\n");
    image_.file(".singularity.d/env/10-docker2singularity.sh~", "export C=1\n");
    image_.file(".singularity.d/env/.hidden.sh", "export C=1\n");
    image_.file("ch/environment", "A=0\nD=$X\n");

    const auto environment = read();
    ASSERT_TRUE(environment);
    EXPECT_THAT(environment->variables, ElementsAre(Pair("A", "0"), Pair("B", "all!")));
    std::vector<std::string> findings;
    for (const model::Finding& finding : environment->findings)
        findings.push_back(finding.message());
    EXPECT_THAT(
        findings,
        ElementsAre("/.singularity.d/env/90-environment.sh: left out what only a shell would "
                    "know, in lines 2",
                    "/ch/environment: left out what only a shell would know, in lines 2"));
}

TEST_F(ImageTest, LeadsNotOutOfItself)
{
    outside_.file("secret", "A=1\n");
    outside_.file("env/1.sh", "export A=1\n");
    image_.link("ch/environment", outside_.at("secret").string());
    image_.link(".singularity.d/env", outside_.at("env").string());
    EXPECT_THAT(variables(), IsEmpty());

    image_.file("etc/own", "A=2\n");
    image_.link("ch/other", "x");
    test::TempRoot other;
    other.file("own", "A=2\n");
    other.link("ch/environment", "../../../../own");
    const auto fd = other.open();
    const auto root = rootfs::Root::open(fd.get());
    ASSERT_TRUE(root);
    const auto environment = read_image(*root);
    ASSERT_TRUE(environment);
    EXPECT_THAT(environment->variables, ElementsAre(Pair("A", "2")));
}

TEST_F(ImageTest, IsReadOnlyWhereItHasRegularFilesOfSomeSize)
{
    image_.directory("ch");
    ASSERT_EQ(::mkfifo(image_.at("ch/environment").c_str(), 0600), 0);
    EXPECT_EQ(problem(), "/ch/environment: not a regular file");
    ASSERT_EQ(::unlink(image_.at("ch/environment").c_str()), 0);
    image_.directory("ch/environment");
    EXPECT_EQ(problem(), "/ch/environment: not a regular file");
    image_.directory(".singularity.d/env/1.sh");
    EXPECT_EQ(problem(), "/.singularity.d/env/1.sh: not a regular file");

    test::TempRoot huge;
    huge.file("ch/environment");
    ASSERT_EQ(::truncate(huge.at("ch/environment").c_str(), off_t{1} << 40U), 0);
    const auto fd = huge.open();
    const auto root = rootfs::Root::open(fd.get());
    ASSERT_TRUE(root);
    const auto environment = read_image(*root);
    ASSERT_FALSE(environment);
    EXPECT_EQ(environment.error().code(), Errc::rootfs);
}

/// Each script may be small, and all of them together not.
TEST_F(ImageTest, HasAnEnvironmentOfSomeSize)
{
    for (int i = 0; i < 101; ++i) {
        std::string text;
        for (int j = 0; j < 100; ++j)
            text += "export A" + std::to_string(i) + "_" + std::to_string(j) + "=1\n";
        image_.file(".singularity.d/env/" + std::to_string(i) + ".sh", text);
    }
    EXPECT_THAT(problem(), HasSubstr(".sh: more than 10000 variables"));

    test::TempRoot other;
    std::string text = "export A=" + std::string(longest_value - 16, 'x') + "\n";
    for (int i = 0; i < 100; ++i)
        text += "export A" + std::to_string(i) + "=$A\n";
    other.file(".singularity.d/env/1.sh", text);
    other.file(".singularity.d/env/2.sh", "export B" + text.substr(text.find('=')));
    EXPECT_THAT(problem_of(other), "no error");
    for (char& c : text)
        c = c == 'A' ? 'C' : c;
    other.file(".singularity.d/env/3.sh", text);
    EXPECT_EQ(problem_of(other), "/.singularity.d/env/3.sh: variables of more than 4194304 bytes");

    text.clear();
    for (int i = 0; i < 10001; ++i)
        text += "A" + std::to_string(i) + "=1\n";
    test::TempRoot list;
    list.file("ch/environment", text);
    EXPECT_EQ(problem_of(list), "/ch/environment: more than 10000 variables");
    const auto of_file = read_text(text);
    ASSERT_FALSE(of_file);
    EXPECT_EQ(of_file.error().code(), Errc::usage);
}

TEST_F(ImageTest, HasNotManyScripts)
{
    for (int i = 0; i < 300; ++i)
        image_.file(".singularity.d/env/" + std::to_string(i) + ".sh");
    EXPECT_THAT(problem(), HasSubstr("/.singularity.d/env"));
}

/// Each byte of them takes time.
TEST_F(ImageTest, HasScriptsOfSomeSizeTogether)
{
    const std::string script = "export A=1\n#" + std::string((1U << 20U) - 12, ' ');
    for (const char* name : {"1", "2", "3", "4"})
        image_.file(base::format(".singularity.d/env/{}.sh", name), script);
    EXPECT_THAT(variables(), ElementsAre(Pair("A", "1")));
    image_.file(".singularity.d/env/5.sh", "B=1\n");
    EXPECT_EQ(problem(), "/.singularity.d/env: scripts of more than 4194304 bytes");
}

TEST(TextTest, MayHaveEachForm)
{
    const auto read = [](std::string_view text) {
        auto environment = read_text(text);
        EXPECT_TRUE(environment);
        return environment ? environment->variables : Variables();
    };
    EXPECT_THAT(read("\n {\"process\": {\"env\": [\"A=1\"]}}"), ElementsAre(Pair("A", "1")));
    EXPECT_THAT(read("A=\"1\"\n"), ElementsAre(Pair("A", "\"1\"")));
    EXPECT_THAT(read("# x\nexport A=\"1\"\n"), ElementsAre(Pair("A", "1")));
    EXPECT_THAT(read("#!/bin/sh\nexport A=\"1\"\n"), ElementsAre(Pair("A", "1")));
    EXPECT_THAT(read(""), IsEmpty());
    EXPECT_FALSE(read_text(std::string(2U << 20U, 'x')));
    EXPECT_FALSE(read_text("[]"));
}

TEST(PrefixedTest, BeatsTheImage)
{
    const std::array environment = {"APPTAINERENV_A=1",   "SINGULARITYENV_A=2",
                                    "SINGULARITYENV_B=3", "C=4",
                                    "APPTAINERENV_=5",    "APPTAINERENV_D"};
    Variables variables = {{"A", "old"}, {"C", "old"}};
    add_prefixed(environment, variables);
    EXPECT_THAT(variables, ElementsAre(Pair("A", "1"), Pair("B", "3"), Pair("C", "old")));
}

} // namespace
} // namespace gpucontainer::imports
