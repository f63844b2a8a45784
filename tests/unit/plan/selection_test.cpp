// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "plan/selection.hpp"

#include "unit/plan/driver_stack.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {

using model::VersionSource;

namespace {

using model::Capability;
using ::testing::ElementsAre;
using ::testing::EndsWith;

constexpr const char* both = "there are 2 GPUs: 0 to 1; `gpuctr-setup list` shows UUIDs and PCI "
                             "addresses";

class SelectionTest : public ::testing::Test {
protected:
    Result<Selection> select(std::string_view list,
                             std::optional<std::string_view> scheduler = std::nullopt) const
    {
        model::Findings left_out;
        auto selections =
            select_devices({&driver_, 1}, {list, environment(scheduler), {}}, left_out);
        if (!selections)
            return std::move(selections).error();
        Selection first = std::move(selections->front());
        return first;
    }

    static Environment environment(std::optional<std::string_view> scheduler)
    {
        Environment set;
        if (scheduler)
            set.emplace("CUDA_VISIBLE_DEVICES", *scheduler);
        return set;
    }

    /// Indexes, or "CODE MESSAGE".
    std::string gpus(std::string_view list,
                     std::optional<std::string_view> scheduler = std::nullopt) const
    {
        const auto selection = select(list, scheduler);
        if (!selection)
            return base::format("{} {}", static_cast<int>(selection.error().code()),
                                selection.error().message());
        return base::format("{}", fmt::join(selection->gpus, ","));
    }

    /// What the scheduler's variable becomes; "unset" when it does not stay.
    std::string visible(std::string_view scheduler) const
    {
        const auto selection = select("auto", scheduler);
        if (!selection)
            return selection.error().message();
        const auto variables =
            visible_inside(driver_, environment(scheduler), selection->layers, selection->gpus);
        EXPECT_EQ(variables.size(), 1U);
        return variables[0].action == "set" ? variables[0].value : variables[0].action;
    }

    void forbid(int gpu)
    {
        for (model::DeviceNode& node : driver_.nodes)
            if (node.gpu == gpu)
                node.accessible = false;
    }

    model::DriverStack driver_ = test::make_driver();
    const std::string first_ = driver_.gpus[0].uuid;
    const std::string second_ = driver_.gpus[1].uuid;
};

TEST_F(SelectionTest, TakesIndexesInAscendingOrderEachOnce)
{
    EXPECT_EQ(gpus("1"), "1");
    EXPECT_EQ(gpus("1,0,1"), "0,1");
    EXPECT_EQ(gpus(" 1 , 0 "), "0,1");
    EXPECT_EQ(gpus("01"), "1");
}

TEST_F(SelectionTest, TakesUuidsWithAndWithoutTheirPrefixInAnyCase)
{
    EXPECT_EQ(gpus("GPU-aaaaaaaa-5555-6666-7777-888888888888"), "1");
    EXPECT_EQ(gpus("gpu-AAAAAAAA-5555-6666-7777-888888888888"), "1");
    EXPECT_EQ(gpus("aaaaaaaa-5555-6666-7777-888888888888"), "1");
}

TEST_F(SelectionTest, TakesUnambiguousPrefixesOfEightCharacters)
{
    driver_.gpus[1].uuid = "GPU-bbbbbbbb-5555-6666-7777-888888888888";

    EXPECT_EQ(gpus("bbbbbbbb"), "1");
    EXPECT_EQ(gpus("GPU-BBBBBBBB"), "1");
    EXPECT_EQ(gpus("bbbbbbbb-5555-6666-7777-8888888888889"),
              "2 device bbbbbbbb-5555-6666-7777-8888888888889: no such GPU");
}

TEST_F(SelectionTest, SaysWhichUuidsBeginWithAWordThatIsTooShort)
{
    const std::string short_of_one = driver_.gpus[0].uuid.substr(0, 8);
    driver_.gpus[1].uuid = "GPU-bbbbbbbb-5555-6666-7777-888888888888";

    const auto selection = select("GPU-bbbb");

    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().message(),
              "device GPU-bbbb: too short: a UUID needs at least 8 characters");
    EXPECT_EQ(selection.error().hint(),
              "these UUIDs begin so: GPU-bbbbbbbb-5555-6666-7777-888888888888");
    EXPECT_EQ(gpus("BBBBBBB"), "2 device BBBBBBB: too short: a UUID needs at least 8 characters");
    EXPECT_EQ(
        gpus(short_of_one),
        base::format("2 device {}: too short: a UUID needs at least 8 characters", short_of_one));
    EXPECT_EQ(gpus("GPU-"), "2 device GPU-: too short: a UUID needs at least 8 characters");
    for (const char* word : {"GPU-cccc", "cccc"})
        EXPECT_EQ(gpus(word), base::format("2 device {}: no such GPU", word));
}

TEST_F(SelectionTest, NamesBothUuidsThatBeginWithAWordThatIsTooShort)
{
    driver_.gpus[0].uuid = "GPU-bbbbbbbb-1111-2222-3333-444444444444";
    driver_.gpus[1].uuid = "GPU-bbbbbbbb-5555-6666-7777-888888888888";

    const auto selection = select("GPU-b");

    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().hint(),
              "these UUIDs begin so: GPU-bbbbbbbb-1111-2222-3333-444444444444, "
              "GPU-bbbbbbbb-5555-6666-7777-888888888888");
}

TEST_F(SelectionTest, TakesAPrefixOfDigitsForAUuid)
{
    driver_.gpus[1].uuid = "GPU-00000001-5555-6666-7777-888888888888";

    EXPECT_EQ(gpus("00000001"), "1");
}

TEST_F(SelectionTest, RefusesAnAmbiguousPrefix)
{
    const auto selection = select("aaaaaaaa");

    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().code(), Errc::usage);
    EXPECT_EQ(selection.error().object(), "aaaaaaaa");
    EXPECT_EQ(selection.error().message(),
              "device aaaaaaaa: more than one GPU has a UUID that begins so");
    EXPECT_EQ(selection.error().hint(), both);
}

TEST_F(SelectionTest, TakesPciAddressesInAllForms)
{
    for (const char* address : {"0000:af:00.0", "0000:AF:00.0", "00000000:af:00.0", "af:00.0",
                                "AF:00", "0:af:0.0", "0000:af:00"})
        EXPECT_EQ(gpus(address), "1") << address;
    for (const char* address : {"0001:af:00.0", "0000:af:01.0", "0000:af:00.1", "af",
                                "af:", ":af:00.0", "0000:af:00.", "x:af:00.0", "0:0:af:00.0"})
        EXPECT_EQ(gpus(address), base::format("2 device {}: no such GPU", address));
}

TEST_F(SelectionTest, RefusesAnUnknownDeviceAndNamesWhatExists)
{
    const auto selection = select("0,7");

    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().code(), Errc::usage);
    EXPECT_EQ(selection.error().object(), "7");
    EXPECT_EQ(selection.error().message(), "device 7: no such GPU");
    EXPECT_EQ(selection.error().hint(), both);
}

TEST_F(SelectionTest, NamesTheOnlyGpuWhole)
{
    driver_.gpus.pop_back();

    EXPECT_EQ(select("1").error().hint(),
              "there is one GPU: 0, GPU-aaaaaaaa-1111-2222-3333-444444444444, 0000:3b:00.0");
    driver_.gpus[0].uuid.clear();
    EXPECT_EQ(select("1").error().hint(), "there is one GPU: 0, 0000:3b:00.0");
}

TEST_F(SelectionTest, RefusesNumbersThatAreNoIndexes)
{
    for (const char* word :
         {"-1", "2", "99999", "4294967296", "18446744073709551616", "0x0", "1.0", "cuda:0"})
        EXPECT_EQ(gpus(word), base::format("2 device {}: no such GPU", word));
}

TEST_F(SelectionTest, SaysWhatIsWrongWithARange)
{
    EXPECT_EQ(gpus("1-0"), "2 device 1-0: the range ends before it begins");
    EXPECT_EQ(gpus("0-"), "2 device 0-: a range without an end");
    for (const char* range : {"0-2", "0-99", "5-9", "0-9999"})
        EXPECT_EQ(gpus(range), base::format("2 device {}: the last GPU is 1", range));
    for (const char* range : {"0-10000", "0-99999999999999999999"})
        EXPECT_EQ(gpus(range), base::format("2 device {}: no host has that many GPUs", range));
    for (const char* word : {"2-2", "-", "0-x", "0--1", "0-1-2", "0- 1", "x-1", "12345-"})
        EXPECT_EQ(gpus(word), base::format("2 device {}: no such GPU", word));
    EXPECT_EQ(gpus("nvidia.com/gpu=1-0"),
              "2 device nvidia.com/gpu=1-0: the range ends before it begins");

    driver_.gpus.clear();
    EXPECT_EQ(gpus("0-1"), "2 device 0-1: no such GPU");
}

TEST_F(SelectionTest, RefusesEmptyNames)
{
    EXPECT_EQ(gpus(""), "2 device list '': an empty name in it");
    EXPECT_EQ(gpus("0,"), "2 device list '0,': an empty name in it");
    EXPECT_EQ(gpus("0,,1"), "2 device list '0,,1': an empty name in it");
}

TEST_F(SelectionTest, HasWordsForEverythingAndNothing)
{
    forbid(0);

    EXPECT_EQ(gpus("all"), "0,1");
    EXPECT_EQ(gpus("ALL,1"), "0,1");
    EXPECT_EQ(gpus("none"), "");
    EXPECT_EQ(gpus(" None "), "");
    EXPECT_EQ(gpus("AUTO"), "1");
    EXPECT_EQ(gpus("none,0"), "2 device none: cannot be combined with other words");
    EXPECT_EQ(gpus("0,auto"), "2 device auto: cannot be combined with other words");
}

TEST_F(SelectionTest, IsExplicitUnlessAutomatic)
{
    EXPECT_TRUE(select("all")->explicitly);
    EXPECT_TRUE(select("none")->explicitly);
    EXPECT_FALSE(select("auto")->explicitly);
}

TEST_F(SelectionTest, TakesAutomaticallyWhatMayBeUsed)
{
    EXPECT_EQ(gpus("auto"), "0,1");
    forbid(0);
    EXPECT_EQ(gpus("auto"), "1");
    EXPECT_TRUE(select("auto")->layers.empty());
}

TEST_F(SelectionTest, SaysThatNothingMayBeUsed)
{
    forbid(0);
    forbid(1);

    const auto selection = select("auto");

    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().code(), Errc::permission);
    EXPECT_EQ(selection.error().message(), "none of the 2 NVIDIA GPUs may be used");
    EXPECT_EQ(
        selection.error().hint(),
        "/dev/nvidia0: its permissions or the device cgroup forbid it; `gpuctr-setup list -v` "
        "shows the reason for each");
    driver_.nodes.clear();
    EXPECT_EQ(select("auto").error().hint(),
              "device nodes are missing; `gpuctr-setup list` shows which are there");
    driver_.findings = {{model::FindingCode::gpu_unusable, "GPU 0000:06:00.0", "has no number"}};
    EXPECT_EQ(select("auto").error().hint(), "GPU 0000:06:00.0: has no number");
}

TEST_F(SelectionTest, TakesAllGpusThatNothingDrives)
{
    driver_.version_source = VersionSource::files;
    driver_.nodes.clear();
    for (model::Gpu& gpu : driver_.gpus)
        gpu.minor = -1;

    EXPECT_EQ(gpus("auto"), "0,1");
    driver_.version_source = VersionSource::option;
    EXPECT_EQ(gpus("auto"), "0,1");
}

TEST_F(SelectionTest, MakesNoForbiddenGpuUsableByAGivenVersion)
{
    driver_.version_source = VersionSource::option;
    forbid(0);
    forbid(1);

    EXPECT_EQ(gpus("auto"), "6 none of the 2 NVIDIA GPUs may be used");
}

class SchedulerTest : public SelectionTest {};

TEST_F(SchedulerTest, NarrowsWhatIsGranted)
{
    EXPECT_EQ(gpus("auto", "1"), "1");
    EXPECT_EQ(gpus("auto", second_), "1");
    EXPECT_EQ(gpus("auto", "0,1"), "0,1");
    EXPECT_EQ(gpus("auto", " 1 , 0 "), "0,1");
}

TEST_F(SchedulerTest, KeepsItsOrderInTheContainer)
{
    EXPECT_EQ(visible("1,0"), second_ + "," + first_);
    EXPECT_EQ(visible("0,1"), first_ + "," + second_);
    EXPECT_EQ(gpus("auto", "1,0"), "0,1");
}

TEST_F(SchedulerTest, CountsAmongTheGpusThatMayBeUsed)
{
    // As the vendor's runtime counts: a GPU that a cgroup hides has no number.
    forbid(0);

    EXPECT_EQ(gpus("auto", "0"), "1");
    EXPECT_EQ(visible("0"), second_);
    EXPECT_EQ(gpus("auto", "1"), "3 CUDA_VISIBLE_DEVICES=1 grants no GPU that may be used");
}

TEST_F(SchedulerTest, EndsAtTheFirstWordItDoesNotKnow)
{
    EXPECT_EQ(gpus("auto", "1,-1,0"), "1");
    EXPECT_EQ(gpus("auto", "1,,0"), "1");
    EXPECT_EQ(gpus("auto", "1,x,0"), "1");
    EXPECT_EQ(visible("1,x,0"), second_);
    forbid(0);
    EXPECT_EQ(gpus("auto", first_ + "," + second_), "3 CUDA_VISIBLE_DEVICES=" + first_ + ","
                                                        + second_
                                                        + " grants no GPU that may be used");
}

TEST_F(SchedulerTest, MayGrantNothing)
{
    for (const char* value : {"", "-1", "NoDevFiles", "none", "7", "all"}) {
        const auto selection = select("auto", value);
        ASSERT_FALSE(selection) << value;
        EXPECT_EQ(selection.error().code(), Errc::no_device);
        EXPECT_EQ(selection.error().message(),
                  base::format("CUDA_VISIBLE_DEVICES={} grants no GPU that may be used", value));
        EXPECT_EQ(selection.error().hint(), "name GPUs with --device instead");
    }
}

TEST_F(SchedulerTest, DoesNotStayWhereGpusHaveNoUuid)
{
    driver_.gpus[0].uuid.clear();

    EXPECT_EQ(gpus("auto", "1,0"), "0,1");
    EXPECT_EQ(visible("1,0"), "unset");
    EXPECT_EQ(visible("1"), second_);
}

TEST_F(SchedulerTest, IsNotAskedWhereGpusAreNamed)
{
    EXPECT_EQ(gpus("0", "1"), "0");
    EXPECT_EQ(gpus("all", "-1"), "0,1");
    EXPECT_TRUE(select("0", "1")->layers.empty());
}

TEST(Capabilities, AreAListOfNames)
{
    EXPECT_THAT(*parse_capabilities("utility"), ElementsAre(Capability::utility));
    EXPECT_THAT(*parse_capabilities(" compute , utility,compute"),
                ElementsAre(Capability::compute, Capability::utility));
    EXPECT_THAT(*parse_capabilities("all"),
                ElementsAre(Capability::compute, Capability::utility, Capability::graphics,
                            Capability::video, Capability::display, Capability::ngx,
                            Capability::compat32));
    for (const char* word : {"graphics", "display", "ngx", "firmware", "compat32"})
        EXPECT_EQ(parse_capabilities(word)->size(), 1U) << word;
}

TEST(Capabilities, AreRefusedWhenUnknown)
{
    for (const char* word : {"", "none", "magic", "Compute"}) {
        const auto parsed = parse_capabilities(std::string("utility,") + word);
        ASSERT_FALSE(parsed) << word;
        EXPECT_EQ(parsed.error().code(), Errc::usage);
        EXPECT_EQ(parsed.error().object(), word);
        EXPECT_EQ(parsed.error().message(), base::format("unknown driver capability '{}'", word));
        EXPECT_THAT(parsed.error().hint(),
                    EndsWith("known capabilities are compute, utility, graphics, video, display, "
                             "ngx, firmware, compat32 and all"));
    }
    EXPECT_EQ(parse_capabilities("Compute").error().hint(),
              "did you mean compute? known capabilities are compute, utility, graphics, video, "
              "display, ngx, firmware, compat32 and all");
}

} // namespace
} // namespace gpucontainer::plan
