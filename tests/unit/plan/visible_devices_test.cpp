// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "plan/selection.hpp"
#include "plan/visible_devices.hpp"

#include "unit/plan/driver_stack.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Visible = model::VisibleDevices;

/// What a driver's variables make of the GPUs, and what becomes of them inside.
class VisibleDevicesTest : public ::testing::Test {
protected:
    VisibleDevicesTest()
    {
        driver_.vendor_name = "Some";
        driver_.root = "/";
    }

    void add_gpu(std::string address, unsigned parts, std::vector<std::string> names = {})
    {
        const auto index = static_cast<unsigned>(driver_.gpus.size());
        driver_.gpus.push_back(test::make_gpu(index, "", std::move(address)));
        driver_.gpus.back().parts = parts;
        driver_.gpus.back().names = std::move(names);
        driver_.nodes.push_back(test::make_node(base::format("/dev/node{}", index), 226, index,
                                                static_cast<int>(index)));
    }

    std::string choose(std::string_view list = "auto")
    {
        model::Findings left_out;
        const auto found = select_devices({&driver_, 1}, {list, environment_, {}}, left_out);
        if (!found)
            return found.error().message();
        selection_ = found->front();
        return base::format("{}", fmt::join(selection_.gpus, ","));
    }

    std::vector<std::string> inside(std::string_view list = "auto")
    {
        EXPECT_NE(choose(list), "");
        std::vector<std::string> all;
        for (const Variable& variable :
             visible_inside(driver_, environment_, selection_.layers, selection_.gpus))
            all.push_back(base::format("{} {}={}", variable.action, variable.name, variable.value));
        return all;
    }

    model::DriverStack driver_;
    Environment environment_;
    Selection selection_;
};

/// A mask over two GPUs of two parts and one without, as programs count them; the last
/// one is the first by its PCI address.
class MaskTest : public VisibleDevicesTest {
protected:
    MaskTest()
    {
        driver_.visible_devices = {{"MASK", Visible::Reader::filter, Visible::Inside::position, "",
                                    false, "HIERARCHY=COMPOSITE", "PCI_ORDER=1"}};
        add_gpu("0000:3a:00.0", 2);
        add_gpu("0000:9a:00.0", 2);
        add_gpu("0000:00:02.0", 1);
    }
};

TEST_F(MaskTest, CountsThePartsOfAllGpus)
{
    environment_ = {{"MASK", "2,3"}};
    EXPECT_EQ(choose(), "1");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0,1"));

    environment_ = {{"MASK", "3"}};
    EXPECT_EQ(choose(), "1");
    EXPECT_THAT(inside(), ElementsAre("set MASK=1"));

    environment_ = {{"MASK", "1,4"}};
    EXPECT_EQ(choose(), "0,2");
    EXPECT_THAT(inside(), ElementsAre("set MASK=1,2"));
}

TEST_F(MaskTest, CountsWholeGpusWhereProgramsDo)
{
    environment_ = {{"HIERARCHY", "COMPOSITE"}, {"MASK", "1"}};
    EXPECT_EQ(choose(), "1");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0"));

    environment_["MASK"] = "1.1,2";
    EXPECT_EQ(choose(), "1,2");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0.1,1"));

    environment_["MASK"] = "1.0,1.1,2.0";
    EXPECT_THAT(inside(), ElementsAre("set MASK=0.0,0.1,1.0"));
}

TEST_F(MaskTest, CountsPartsInEveryOtherHierarchy)
{
    environment_ = {{"HIERARCHY", "COMBINED"}, {"MASK", "2"}};
    EXPECT_EQ(choose(), "1");
    environment_["HIERARCHY"] = "composite";
    EXPECT_EQ(choose(), "1");
}

TEST_F(MaskTest, PassesOverWordsThatNameNothing)
{
    environment_ = {{"MASK", "x,7,2.1, 4 ,-1,1-2,"}};
    EXPECT_EQ(choose(), "2");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0"));

    environment_ = {{"HIERARCHY", "COMPOSITE"}, {"MASK", "0.2,2.1,1.x,1."}};
    EXPECT_EQ(choose(), "MASK=0.2,2.1,1.x,1. grants no GPU that may be used");
}

TEST_F(MaskTest, KeepsTheOrderOfTheGpus)
{
    environment_ = {{"MASK", "4,0,0,4"}};

    EXPECT_EQ(choose(), "0,2");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0,2"));
}

TEST_F(MaskTest, CountsByPciAddressWhereProgramsDo)
{
    environment_ = {{"PCI_ORDER", "1"}, {"MASK", "0,3"}};

    EXPECT_EQ(choose(), "1,2");
    EXPECT_THAT(inside(), ElementsAre("set MASK=0,1"));
}

TEST_F(MaskTest, IsNoneWhileItIsEmpty)
{
    for (const char* value : {"", "default"}) {
        environment_ = {{"MASK", value}};
        EXPECT_EQ(choose(), "0,1,2");
        EXPECT_THAT(inside(), ElementsAre("unset MASK="));
    }
}

TEST_F(MaskTest, IsUnsetForGpusByName)
{
    environment_ = {{"MASK", "0"}};

    EXPECT_THAT(inside("1"), ElementsAre("unset MASK="));
}

TEST_F(MaskTest, CountsNoGpuThatMayNotBeUsed)
{
    driver_.nodes[0].accessible = false;
    environment_ = {{"MASK", "0"}};

    EXPECT_EQ(choose(), "1");
}

/// GPUs that are called by the numbers of their nodes, and by slots.
class SlotTest : public VisibleDevicesTest {
protected:
    SlotTest()
    {
        const auto runtime = Visible::Reader::runtime;
        const auto name = Visible::Inside::name;
        driver_.visible_devices = {{"NODES", runtime, name, "node"},
                                   {"SLOTS", runtime, name, "slot-", true},
                                   {"OWN_SLOT", Visible::Reader::process, name, "slot-", true}};
        for (unsigned i = 0; i < 12; ++i)
            add_gpu(base::format("0000:{:02x}:00.0", 0x10 + i), 1,
                    {base::format("node{}", i + 1), base::format("slot-{}", 11 - i)});
    }
};

TEST_F(SlotTest, NamesGpusByNumbersOfMoreThanOneDigit)
{
    environment_ = {{"NODES", "10, 12 ,1"}};

    EXPECT_EQ(choose(), "0,9,11");
    EXPECT_THAT(inside(), ElementsAre("set NODES=10,12,1", "set SLOTS=2,0,11"));
}

TEST_F(SlotTest, KnowsAllAndNone)
{
    environment_ = {{"NODES", "all"}};
    EXPECT_EQ(choose(), "0,1,2,3,4,5,6,7,8,9,10,11");
    for (const char* none : {"", "none", "void", "0", "99"}) {
        environment_ = {{"NODES", none}};
        EXPECT_EQ(choose(), base::format("NODES={} grants no GPU that may be used", none));
    }
}

TEST_F(SlotTest, NarrowsBySlots)
{
    environment_ = {{"SLOTS", "5,4"}};

    EXPECT_EQ(choose(), "6,7");
    EXPECT_THAT(inside(), ElementsAre("set SLOTS=5,4"));
}

TEST_F(SlotTest, TellsTheSlotsOfAPartThatSomebodyChose)
{
    EXPECT_THAT(inside("slot-3,node5,0"), ElementsAre("set SLOTS=11,7,3"));
    EXPECT_THAT(inside("node8"), ElementsAre("set SLOTS=4", "set OWN_SLOT=4"));
}

TEST_F(SlotTest, TellsNothingWhereAllAreThere)
{
    EXPECT_THAT(inside(), IsEmpty());
    EXPECT_THAT(inside("all"), IsEmpty());
}

TEST_F(SlotTest, LeavesAProcessItsOwnSlotAmongSeveral)
{
    environment_ = {{"OWN_SLOT", "7"}};

    EXPECT_EQ(choose(), "0,1,2,3,4,5,6,7,8,9,10,11") << "it narrows nothing";
    EXPECT_THAT(inside("3-4"), ElementsAre("set SLOTS=8,7"));
    EXPECT_THAT(inside("0"), ElementsAre("set SLOTS=11", "set OWN_SLOT=11"));
}

TEST_F(SlotTest, TellsNoSlotOfAGpuThatHasNone)
{
    driver_.gpus[4].names = {"node5"};
    EXPECT_THAT(inside("3-4"), IsEmpty());
    environment_ = {{"SLOTS", "8"}};
    EXPECT_THAT(inside("3-4"), ElementsAre("unset SLOTS="));
}

/// As AMD's: the vendor's programs count in an order of their own, and only some heed
/// the variables after the first.
class OwnOrderTest : public VisibleDevicesTest {
protected:
    OwnOrderTest()
    {
        Visible first = {"FIRST", Visible::Reader::library, Visible::Inside::position};
        Visible shared = first;
        shared.name = "SHARED";
        shared.empty_is_unset = true;
        Visible last = shared;
        last.name = "LAST";
        shared.decides = false;
        shared.preferred = "LAST";
        driver_.visible_devices = {
            {"RUNTIME", Visible::Reader::runtime, Visible::Inside::nothing}, first, shared, last};
        for (const char* address : {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"})
            add_gpu(address, 1);
        driver_.library_order = {2, 3, 0, 1};
    }

    std::vector<std::string> inside_beside(const std::vector<Variable>& others)
    {
        EXPECT_NE(choose(), "");
        std::vector<std::string> all;
        for (const Variable& variable :
             visible_inside(driver_, environment_, selection_.layers, selection_.gpus, others))
            all.push_back(base::format("{} {}={}", variable.action, variable.name, variable.value));
        return all;
    }
};

TEST_F(OwnOrderTest, CountsAsTheVendorsProgramsDo)
{
    environment_ = {{"FIRST", "0,3"}};
    EXPECT_EQ(choose(), "1,2");
    EXPECT_THAT(inside(), ElementsAre("set FIRST=0,1"));

    environment_ = {{"FIRST", "3,0"}};
    EXPECT_EQ(choose(), "1,2");
    EXPECT_THAT(inside(), ElementsAre("set FIRST=1,0"));
}

TEST_F(OwnOrderTest, IsThatOfWhatARuntimeGrantsToo)
{
    environment_ = {{"RUNTIME", "3,1,0"}, {"FIRST", "0"}};
    EXPECT_EQ(choose(), "3");
    EXPECT_THAT(inside(), ElementsAre("unset RUNTIME=", "set FIRST=0"));
}

TEST_F(OwnOrderTest, OfOneVariableIsThatOfTheNext)
{
    environment_ = {{"FIRST", "3,2,1"}, {"LAST", "0,2"}};
    EXPECT_EQ(choose(), "1,3");
    EXPECT_THAT(inside(), ElementsAre("set FIRST=1,0", "set LAST=0,1"));
}

TEST_F(OwnOrderTest, IsNotNarrowedByWhatSomeProgramsHeed)
{
    environment_ = {{"SHARED", "1"}};
    EXPECT_EQ(choose(), "0,1,2,3");
    EXPECT_THAT(inside(), ElementsAre("set SHARED=1"));

    environment_ = {{"FIRST", "2,3"}, {"SHARED", "1,7"}};
    EXPECT_EQ(choose(), "0,1");
    EXPECT_THAT(inside(), ElementsAre("set FIRST=0,1", "set SHARED=1"));
}

TEST_F(OwnOrderTest, LeavesWhatIsNotUnderstoodUnset)
{
    for (const char* value : {"2,3", "GPU-00000000", "-1", "NoDevFiles"}) {
        environment_ = {{"FIRST", "2,3"}, {"SHARED", value}};
        EXPECT_EQ(choose(), "0,1");
        EXPECT_THAT(inside(), ElementsAre("set FIRST=0,1", "unset SHARED=")) << value;
    }
}

TEST_F(OwnOrderTest, TakesEmptyForUnsetWhereTheProgramsDo)
{
    environment_ = {{"LAST", ""}};
    EXPECT_EQ(choose(), "0,1,2,3");
    EXPECT_THAT(inside(), ElementsAre("unset LAST="));
    environment_ = {{"FIRST", ""}};
    EXPECT_EQ(choose(), "FIRST= grants no GPU that may be used");
}

TEST_F(OwnOrderTest, LeavesAnotherVendorsVariableToThat)
{
    environment_ = {{"FIRST", "2,3"}, {"SHARED", "GPU-of-the-other"}};
    EXPECT_THAT(inside_beside({{"set", "SHARED", "GPU-of-the-other"}}),
                ElementsAre("set FIRST=0,1", "set LAST=0,1"));
    EXPECT_THAT(inside_beside({{"unset", "SHARED", ""}}), ElementsAre("set FIRST=0,1"));

    environment_["LAST"] = "1";
    EXPECT_THAT(inside_beside({{"set", "SHARED", "GPU-of-the-other"}}),
                ElementsAre("set FIRST=0", "set LAST=0"));
    environment_["LAST"] = "";
    EXPECT_THAT(inside_beside({{"set", "SHARED", "GPU-of-the-other"}}),
                ElementsAre("set FIRST=0,1", "set LAST=0,1"));
}

} // namespace
} // namespace gpucontainer::plan
