// SPDX-License-Identifier: MIT
#include "cdi/as_mounts.hpp"
#include "cdi/chosen.hpp"
#include "cdi/merged.hpp"
#include "drivers/registry.hpp"

#include "support/temp_root.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Hook hook(std::vector<std::string> args)
{
    args.insert(args.begin(), "nvidia-cdi-hook");
    Hook one = {"createContainer", "/usr/bin/nvidia-cdi-hook", std::move(args)};
    one.place = {"a.yaml", 7, "containerEdits.hooks[0]"};
    return one;
}

Chosen chosen(std::vector<Edits> edits) { return {{"a.com/b=c"}, std::move(edits)}; }

/// What is said of a hook that is refused; "" if it is taken.
std::string objection(const Hook& one)
{
    Edits edits;
    edits.hooks = {one};
    const auto merged = merge(chosen({edits}), KeptHooks::none, drivers::task_of);
    return merged ? "" : merged.error().message();
}

TEST(CdiMergedTest, TheLastOfEqualNamesCounts)
{
    Edits first;
    first.env = {"A=1", "B=2"};
    first.mounts = {{"/x", "/a/b/c"}, {"/y", "/a"}};
    first.additional_gids = {0, 5};
    first.rdt = Rdt{"one"};
    Edits second;
    second.env = {"A=3"};
    second.mounts = {{"/z", "/a/./b//c"}};
    second.additional_gids = {5, 6};
    second.rdt = Rdt{"two"};
    const auto merged = merge(chosen({first, second}), KeptHooks::none, drivers::task_of);

    ASSERT_TRUE(merged);
    EXPECT_THAT(merged->edits.env, ElementsAre("A=3", "B=2"));
    EXPECT_THAT(merged->edits.mounts, ElementsAre(Mount{"/y", "/a"}, Mount{"/z", "/a/b/c"}));
    EXPECT_THAT(merged->edits.additional_gids, ElementsAre(5, 6));
    EXPECT_EQ(merged->edits.rdt->clos_id, "two");
}

TEST(CdiMergedTest, ANodeIsThatOfTheHost)
{
    Edits edits;
    edits.nodes = {{"/dev/x", "/dev/null"}};
    const auto merged = merge(chosen({edits}), KeptHooks::none, drivers::task_of);

    ASSERT_TRUE(merged);
    EXPECT_EQ(merged->edits.nodes[0].type, "c");
    EXPECT_EQ(merged->edits.nodes[0].major, 1);
    EXPECT_EQ(merged->edits.nodes[0].minor, 3);
}

TEST(CdiMergedTest, ANodeOfAnotherNumberIsRefused)
{
    Edits edits;
    edits.nodes = {{"/dev/null", "", "c", 1, 5}};
    const auto merged = merge(chosen({edits}), KeptHooks::none, drivers::task_of);

    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code(), Errc::driver);
    EXPECT_THAT(merged.error().message(), HasSubstr("is device 1:3 of this host"));
}

TEST(CdiMergedTest, ANodeWithTypeAndNumberNeedsNoneOfTheHost)
{
    Edits edits;
    edits.nodes = {{"/dev/nowhere", "", "c", 1, 5}};
    EXPECT_TRUE(merge(chosen({edits}), KeptHooks::none, drivers::task_of));
    edits.nodes[0].major = -1;
    EXPECT_FALSE(merge(chosen({edits}), KeptHooks::none, drivers::task_of));
}

TEST(CdiMergedTest, PathsThatMayLeadElsewhereAreRefused)
{
    for (const char* path : {"a", "/a/../b", "/", "", "/.."}) {
        Edits edits;
        edits.mounts = {{"/x", path}};
        EXPECT_FALSE(merge(chosen({edits}), KeptHooks::none, drivers::task_of)) << path;
    }
}

TEST(CdiMergedTest, HooksThatAreNotKnownAreRefusedOrKept)
{
    Edits edits;
    edits.hooks = {{"poststop", "/bin/x"}, hook({"update-ldcache", "--folder", "/a"})};
    edits.hooks[0].place = {"a.yaml", 9, "containerEdits.hooks[1]"};

    EXPECT_THAT(merge(chosen({edits}), KeptHooks::none, drivers::task_of).error().message(),
                HasSubstr("a.yaml:9: containerEdits.hooks[1]: the poststop hook '/bin/x'"));
    const auto unknown = merge(chosen({edits}), KeptHooks::unknown, drivers::task_of);
    EXPECT_THAT(unknown->edits.hooks, ElementsAre(edits.hooks[0]));
    EXPECT_EQ(unknown->tasks.size(), 1U);
    const auto all = merge(chosen({edits}), KeptHooks::all, drivers::task_of);
    EXPECT_EQ(all->edits.hooks.size(), 2U);
    EXPECT_THAT(all->tasks, IsEmpty());
}

TEST(CdiHookTaskTest, KnowsArgumentsInEachForm)
{
    EXPECT_EQ(objection(hook({"create-symlinks", "--link", "a::/b", "-link=c::/d"})), "");
    EXPECT_EQ(objection(hook({"update-ldcache", "--ldconfig-path", "@/sbin/ldconfig"})), "");
    EXPECT_EQ(
        objection(hook({"enable-cuda-compat", "--host-driver-version=580.1", "--host-cuda-version",
                        "13.0", "--cuda-compat-container-root", "/c"})),
        "");
    EXPECT_EQ(objection(hook({"chmod", "--mode", "0755", "--path", "/dev/dri"})), "");
    EXPECT_EQ(objection(hook({"--debug", "disable-device-node-modification"})), "");
    EXPECT_EQ(objection(hook({"update-application-profile"})), "");
}

TEST(CdiHookTaskTest, RefusesWhatTheHookWouldNotTake)
{
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"create-symlinks", "a"},
             {"create-symlinks", "--link"},
             {"create-symlinks", "--link", "::/b"},
             {"create-symlinks", "--link", "a::b"},
             {"create-symlinks", "--link", "a::/"},
             {"create-symlinks", "--link", "a::/b/.."},
             {"update-ldcache", "--folder", "a"},
             {"chmod", "--mode", "77777"},
             {"chmod", "--mode", ""},
             {"disable-device-node-modification", "--x"},
             {"enable-cuda-compat", "--host-driver-version", "1;2"}})
        EXPECT_THAT(objection(hook(args)), HasSubstr("a.yaml:7: containerEdits.hooks[0]: "));
}

TEST(CdiLinksTest, LeadsThroughLinksAndNotInARound)
{
    Edits edits;
    edits.mounts = {{"/x", "/lib/a.so.1.2"}};
    edits.hooks = {hook({"create-symlinks", "--link", "a.so.1::/lib/a.so", "--link",
                         "../lib/a.so.1.2::/lib/a.so.1", "--link", "d::/c", "--link", "c::/d"})};
    const auto merged = merge(chosen({edits}), KeptHooks::none, drivers::task_of);
    const Links links(*merged);

    EXPECT_EQ(links.end_of("/lib/a.so"), "/lib/a.so.1.2");
    EXPECT_NE(links.mount_at("/lib/a.so.1.2"), nullptr);
    EXPECT_EQ(links.end_of("/c"), std::nullopt);
}

class CdiChosenTest : public ::testing::Test {
protected:
    Result<Chosen> choose_from_file(const std::vector<std::string>& names)
    {
        root_.file("a.yaml", "cdiVersion: 0.5.0\nkind: v.com/c\ncontainerEdits: {env: [A=b]}\n"
                             "devices:\n- name: x\n  containerEdits: {env: [B=c]}\n"
                             "- name: z\n  containerEdits: {env: [C=d]}\n");
        const std::vector<std::string> paths = {root_.at("a.yaml")};
        return choose(read_paths(paths), names);
    }
    test::TempRoot root_;
};

TEST_F(CdiChosenTest, CommonEditsComeOnceAndFirst)
{
    const auto chosen = choose_from_file({"v.com/c=z", "v.com/c=x", "v.com/c=z"});

    ASSERT_TRUE(chosen) << chosen.error().message();
    ASSERT_EQ(chosen->edits.size(), 3U);
    EXPECT_THAT(chosen->edits[0].env, ElementsAre("A=b"));
    EXPECT_THAT(chosen->edits[1].env, ElementsAre("C=d"));
    EXPECT_THAT(chosen->devices, ElementsAre("v.com/c=z", "v.com/c=x"));
    EXPECT_EQ(chosen->edits[2].place.text(),
              root_.at("a.yaml").string() + ":6: devices[0].containerEdits");
}

TEST_F(CdiChosenTest, OneNameThatIsMissingIsAnError)
{
    const auto chosen = choose_from_file({"v.com/c=x", "v.com/c=w"});

    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().code(), Errc::usage);
    EXPECT_THAT(chosen.error().hint(), HasSubstr("v.com/c=x, v.com/c=z"));
    EXPECT_FALSE(choose_from_file({}));
}

} // namespace
} // namespace gpucontainer::cdi
