// SPDX-License-Identifier: MIT
#include "import/container_environment.hpp"

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
    Result<ContainerEnvironment> read() const
    {
        const auto fd = image_.open();
        auto root = rootfs::Root::open(fd.get());
        EXPECT_TRUE(root);
        return read_image(*root);
    }

    Variables variables() const
    {
        auto environment = read();
        EXPECT_TRUE(environment) << environment.error().message();
        return environment ? environment->variables : Variables();
    }

    std::string problem() const
    {
        const auto environment = read();
        return environment ? "no error" : environment.error().message();
    }

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

TEST_F(ImageTest, HasNotManyScripts)
{
    for (int i = 0; i < 300; ++i)
        image_.file(".singularity.d/env/" + std::to_string(i) + ".sh");
    EXPECT_THAT(problem(), HasSubstr("/.singularity.d/env"));
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
