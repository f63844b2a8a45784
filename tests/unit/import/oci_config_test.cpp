// SPDX-License-Identifier: MIT
#include "import/oci_config.hpp"

#include "base/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Variables read(std::string_view text)
{
    auto variables = read_oci_config(text);
    EXPECT_TRUE(variables) << variables.error().message();
    return variables ? *std::move(variables) : Variables();
}

std::string problem(std::string_view text)
{
    const auto variables = read_oci_config(text);
    return variables ? "no error" : variables.error().message();
}

/// A runtime configuration with NVIDIA_VISIBLE_DEVICES=9 and one mount of each target.
Variables with_mounts(std::initializer_list<const char*> targets, const char* source = "/dev/null")
{
    std::string mounts;
    for (const char* const target : targets)
        mounts += base::format(R"({}{{"destination": "{}", "source": "{}", "type": "bind"}})",
                               mounts.empty() ? "" : ", ", target, source);
    return read(base::format(
        R"({{"process": {{"env": ["NVIDIA_VISIBLE_DEVICES=9"]}}, "mounts": [{}]}})", mounts));
}

TEST(OciConfigTest, HasAnEnvironment)
{
    EXPECT_THAT(read(R"({"ociVersion": "1.2.0", "process": {"env": ["A=1", "B=x=y", "A=2"]}})"),
                ElementsAre(Pair("A", "2"), Pair("B", "x=y")));
    EXPECT_THAT(read(R"({"config": {"Env": ["A=1"]}, "architecture": "amd64"})"),
                ElementsAre(Pair("A", "1")));
    EXPECT_THAT(read(R"({"process": {}})"), IsEmpty());
    EXPECT_THAT(read(R"({"config": {"Env": null}})"), IsEmpty());
    EXPECT_THAT(read(R"({"process": {"env": ["none", "=x", "0=1", "A-B=1"]}})"), IsEmpty());
}

TEST(OciConfigTest, NamesDevicesByMounts)
{
    const std::string directory = "/var/run/nvidia-container-devices/";
    const auto value = [&](std::initializer_list<const char*> names) {
        std::vector<std::string> targets;
        for (const char* const name : names)
            targets.push_back(directory + name);
        std::string mounts;
        for (const std::string& target : targets)
            mounts += base::format(R"({}{{"destination": "{}", "source": "/dev/null"}})",
                                   mounts.empty() ? "" : ", ", target);
        return read(base::format(
                        R"({{"process": {{"env": ["NVIDIA_VISIBLE_DEVICES=9"]}}, "mounts": [{}]}})",
                        mounts))
            .at("NVIDIA_VISIBLE_DEVICES");
    };
    EXPECT_EQ(value({"0", "GPU-8e8f6868"}), "0,GPU-8e8f6868");
    EXPECT_EQ(value({"all"}), "all");
    EXPECT_EQ(value({"cdi/nvidia.com/gpu/1"}), "nvidia.com/gpu=1");
    EXPECT_THAT(
        with_mounts({"/var/run/nvidia-container-devices/imex/0",
                     "/var/run/nvidia-container-devices/imex/7"}),
        ElementsAre(Pair("NVIDIA_IMEX_CHANNELS", "0,7"), Pair("NVIDIA_VISIBLE_DEVICES", "9")));
    EXPECT_EQ(value({"", "imex/0", "../0", "0/", "cdi/a/..", "cdi/a/b/c/d", "x/y"}), "9")
        << "none of them names a GPU";
    EXPECT_THAT(with_mounts({"/var/run/nvidia-container-devices/0"}, "/etc"),
                ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "9")))
        << "a mount of something";
    EXPECT_THAT(
        with_mounts({"/var/run/nvidia-container-devices", "/var/run/nvidia-container-devices0"}),
        ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "9")));
}

TEST(OciConfigTest, IsRefusedIfItIsNone)
{
    EXPECT_THAT(problem("{"), HasSubstr("no JSON document: "));
    EXPECT_THAT(problem("[1]"), HasSubstr("neither an OCI runtime configuration nor an image's"));
    EXPECT_THAT(problem("{}"), HasSubstr("neither an OCI runtime configuration nor an image's"));
    for (const char* list : {"{}", "1", "\"A=1\"", "[1]", "[[\"A=1\"]]", "true"})
        EXPECT_THAT(problem(base::format(R"({{"process": {{"env": {}}}}})", list)),
                    HasSubstr("not a list of variables"));
    EXPECT_THAT(read(R"({"process": 1, "mounts": [1, {"destination": 1}, null]})"), IsEmpty());
    EXPECT_THAT(read(R"({"process": {}, "mounts": {"a": 1}})"), IsEmpty());
}

TEST(OciConfigTest, HasLimits)
{
    EXPECT_THAT(problem(std::string(longest_document + 1, ' ')), HasSubstr("larger than"));
    EXPECT_THAT(problem(std::string(1U << 20U, '[')), HasSubstr("nested in more than"));
    const std::string deep = std::string(100000, '[') + std::string(100000, ']');
    EXPECT_THAT(problem(R"({"process": {"env": ["A=1"]}, "x": )" + deep + "}"),
                HasSubstr("nested in more than 64 levels"));
    EXPECT_LT(problem("[\"" + std::string(1U << 20U, 'x')).size(), 300U);
    const std::string name = "NVIDIA_VISIBLE_DEVICES";
    EXPECT_THAT(
        problem(R"({"process": {"env": [")" + name + "=" + std::string(40000, 'x') + "\"]}}"),
        HasSubstr("the value of NVIDIA_VISIBLE_DEVICES in it is too long"));
    EXPECT_THAT(problem(R"({"process": {"env": ["NVIDIA_REQUIRE_X=\u0000"]}})"),
                HasSubstr("too long"));
    std::string many = R"({"process": {"env": [)";
    for (int i = 0; i < 70'000; ++i)
        many += "\"A=1\",";
    many.back() = ']';
    EXPECT_THAT(problem(many + "}}"), HasSubstr("more than 65536 values count"));
}

TEST(OciConfigTest, ALongVariableOfNoMakerCountsAsUnknown)
{
    EXPECT_THAT(read(R"({"process": {"env": ["A=1", "A=)" + std::string(40000, 'x')
                     + R"(", "B=1", "C=\u0000"]}})"),
                ElementsAre(Pair("B", "1")));
}

TEST(OciConfigTest, ANameThatCountsIsThereOnce)
{
    for (const char* text :
         {R"({"process": {}, "process": {}})", R"({"process": {"env": [], "env": ["A=1"]}})",
          R"({"process": {}, "mounts": [{"destination": "/a", "destination": "/b"}]})"})
        EXPECT_THAT(problem(text), HasSubstr("is in it twice"));
    EXPECT_THAT(read(R"({"process": {"env": ["A=1"]}, "x": 1, "x": {"process": 1, "process": 2},
                         "process/env": [], "process/env": ["A=2"], "*": 1, "mounts": {"*": {}}})"),
                ElementsAre(Pair("A", "1")));
}

/// A list of objects once took hours.
TEST(OciConfigTest, TakesTheTimeOfItsLength)
{
    std::string text = R"({"process": {"env": ["A=1"]}, "x": [)";
    while (text.size() < (4U << 20U) - 16)
        text += R"({"":1},)";
    text += "0]}";
    EXPECT_THAT(read(text), ElementsAre(Pair("A", "1")));
}

} // namespace
} // namespace gpucontainer::imports
