// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST_F(PlanTest, WritesOnlyWhereNobodyElseSees)
{
    EXPECT_TRUE(made().writes_root);
    for (const auto change : {+[](rootfs::RootFacts& facts) { facts.own = false; },
                              +[](rootfs::RootFacts& facts) { facts.writable = false; },
                              +[](rootfs::RootFacts& facts) { facts.read_only = true; },
                              +[](rootfs::RootFacts& facts) { facts.network = true; }}) {
        const rootfs::RootFacts usual = facts_;
        change(facts_);
        EXPECT_FALSE(made().writes_root);
        facts_ = usual;
    }
}

TEST_F(PlanTest, WritesAlwaysOrNeverWhenToldSo)
{
    request_.write = Write::never;
    EXPECT_FALSE(made().writes_root);
    request_.write = Write::always;
    facts_ = {};
    facts_.network = true;
    EXPECT_TRUE(made().writes_root);
}

class OverlayPlanTest : public PlanTest {
protected:
    OverlayPlanTest() { request_.write = Write::never; }

    /// Directories that an overlay is mounted over.
    std::vector<std::string> overlays() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (item.as<Overlay>() != nullptr)
                all.push_back(item.target);
        return all;
    }

    std::vector<std::string> created() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (item.place == Place::created)
                all.push_back(item.target);
        return all;
    }
};

TEST_F(OverlayPlanTest, CreatesNothingInTheRoot)
{
    EXPECT_THAT(created(), IsEmpty());
    EXPECT_THAT(items({ItemKind::file}), IsEmpty());
}

TEST_F(OverlayPlanTest, MountsOverTheOutermostDirectoriesOnly)
{
    EXPECT_THAT(overlays(), ElementsAre("/dev", "/etc", "/usr/bin", "/usr/lib", "/usr/local"));
}

TEST_F(OverlayPlanTest, MountsTheOverlaysBeforeAllElse)
{
    EXPECT_THAT(
        items({ItemKind::mount, ItemKind::directory, ItemKind::ldcache}),
        ElementsAre(
            "mount there: overlay -> /dev ro", "mount there: overlay -> /etc ro",
            "mount there: overlay -> /usr/bin ro", "mount there: overlay -> /usr/lib ro",
            "mount there: overlay -> /usr/local ro", "directory overlay:  -> /usr/lib/gpuctr",
            "mount there: tmpfs -> /usr/lib/gpuctr ro,nosuid,nodev",
            "directory overlay:  -> " + libraries_, "ldcache overlay:  -> /etc/ld.so.cache"));
}

TEST_F(OverlayPlanTest, MountsAnOverlayOfItsOwnOverEachMount)
{
    for (const std::string& path : {libraries_, libraries_ + "/libc.so.6"})
        root_.at(path).mount = 1;

    EXPECT_THAT(overlays(),
                ElementsAre("/dev", "/etc", "/usr/bin", "/usr/lib", libraries_, "/usr/local"));
    EXPECT_THAT(items({ItemKind::directory}),
                ElementsAre("directory overlay:  -> /usr/lib/gpuctr"));
}

TEST_F(OverlayPlanTest, LendsItsDirectoriesTheModeOfTheImages)
{
    root_.at("/usr/lib").mode = 0711;
    root_.at(libraries_).mode = 0700;

    std::vector<std::string> modes;
    for (const Item& item : made().items)
        if (const auto* directory = item.as<Directory>())
            modes.push_back(base::format("{} {:o}", item.target, directory->mode));
        else if (const auto* overlay = item.as<Overlay>())
            modes.push_back(base::format("{} {:o}", item.target, overlay->mode));
    EXPECT_THAT(modes, ElementsAre("/dev 755", "/etc 755", "/usr/bin 755", "/usr/lib 711",
                                   "/usr/local 755", "/usr/lib/gpuctr 755", libraries_ + " 700"));
}

TEST_F(OverlayPlanTest, CoversOnlyTheWayToTheTreeWhereAllOtherNamesAreThere)
{
    root_.file("/etc/ld.so.cache");
    root_.file(libraries_ + "/libcuda.so.1");
    root_.file(libraries_ + "/libcuda.so");
    root_.file("/usr/bin/nvidia-smi");
    root_.directory("/usr/local/nvidia");
    for (const model::DeviceNode& node : driver_.nodes)
        root_.node(node.path);

    EXPECT_THAT(overlays(), ElementsAre("/usr/lib"));
    EXPECT_THAT(created(), IsEmpty());
    EXPECT_THAT(items({ItemKind::ldcache}),
                ElementsAre("ldcache there:  -> /etc/ld.so.cache ro,nosuid,nodev"));
}

TEST_F(OverlayPlanTest, CreatesNodesInADevThatIsATmpfs)
{
    root_.at("/dev").own_tmpfs = true;

    EXPECT_THAT(overlays(), Not(Contains("/dev")));
    EXPECT_THAT(created(),
                ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia1"));
}

TEST_F(OverlayPlanTest, LeavesATmpfsThatIsNotForNames)
{
    root_.at("/dev").own_tmpfs = true;
    root_.keep_names_out_of("/dev");

    EXPECT_THAT(overlays(), Contains("/dev"));
    EXPECT_THAT(created(), IsEmpty());
}

TEST_F(OverlayPlanTest, LiesOverThoseDirectoriesAloneThatAreNotForNames)
{
    request_.write = Write::automatic;
    EXPECT_THAT(overlays(), IsEmpty());
    for (const char* path : {"/usr/lib", "/usr/bin"})
        root_.keep_names_out_of(path);

    EXPECT_THAT(overlays(), ElementsAre("/usr/bin", "/usr/lib"));
    EXPECT_THAT(created(), Contains("/etc/ld.so.cache"));
    EXPECT_THAT(created(), Not(Contains("/usr/bin/nvidia-smi")));
    EXPECT_TRUE(made().writes_root);

    request_.write = Write::always;
    EXPECT_THAT(overlays(), IsEmpty());
}

TEST_F(OverlayPlanTest, TakesTheNearestDirectoryWhereOneIsMissing)
{
    root_ = {};
    root_.file(std::string(elf::own_machine().loader));
    for (const char* path : {"/usr/lib", "/etc", "/dev"})
        root_.directory(path);

    EXPECT_THAT(overlays(), IsSupersetOf({"/usr", "/etc", "/dev"}));
    EXPECT_THAT(overlays(), Not(Contains("/usr/lib")));
    EXPECT_THAT(items({ItemKind::directory}), ElementsAre("directory overlay:  -> /usr/lib",
                                                          "directory overlay:  -> /usr/lib/gpuctr",
                                                          "directory overlay:  -> /usr/bin",
                                                          "directory overlay:  -> /usr/local"));
}

TEST_F(OverlayPlanTest, RefusesALoaderCacheThatIsNoFile)
{
    root_.link("/etc/ld.so.cache", "/elsewhere");

    EXPECT_EQ(problem(), "5 /etc/ld.so.cache is in the way: not a regular file");
}

} // namespace
} // namespace gpucontainer::plan
