// SPDX-License-Identifier: MIT
#include "unit/drivers/user_space_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(UserSpaceTest, PassesOverA32BitLibraryThatTheCacheGivesFirst)
{
    tree_.library("usr/lib/libcuda.so.535.183.01", "libcuda.so.1", "Intel 80386", "ELF32");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.535.183.01");
    install("usr/lib64", "libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1");

    const UserSpace space = found();

    EXPECT_EQ(with_root(space.library_directory), "ROOT/usr/lib64");
    EXPECT_THAT(skipped(space, "libcuda.so.1"),
                ElementsAre("ROOT/usr/lib/libcuda.so.1: is for i386"));
}

TEST_F(UserSpaceTest, DoesNotEvenLookAtCacheEntriesOfOtherMachines)
{
    const std::int32_t foreign_flags = elf::native_cache_flags ^ 0x0900;
    install("usr/lib64", "libcuda.so.1");
    tree_.file("usr/lib/libcuda.so.1", "not even ELF");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.1", foreign_flags);
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1");

    EXPECT_THAT(skipped(found(), "libcuda.so.1"), IsEmpty());
}

TEST_F(UserSpaceTest, RefusesALibraryOfAnotherMachine)
{
    tree_.of_this_machine();
    tree_.library("usr/lib64/libcuda.so.535.183.01", "libcuda.so.1", test::foreign_machine);
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");

    EXPECT_EQ(problem(), base::format("no libcuda.so.1 of version 535.183.01 in ROOT: "
                                      "ROOT/usr/lib64/libcuda.so.1 is for {}",
                                      test::foreign_name));
    EXPECT_EQ(find().error().hint(),
              "name a driver root whose files are for this machine's architecture");
}

TEST_F(UserSpaceTest, TakesTheLibrariesOfADriverRootOfAnotherMachine)
{
    constexpr std::int32_t cache_flags = 0x0503;
    tree_.file("lib64/ld64.so.2");
    tree_.library("usr/lib64/libcuda.so.535.183.01", "libcuda.so.1", "PowerPC64");
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");
    tree_.library("usr/lib/libcuda.so.535.183.01", "libcuda.so.1");
    tree_.link("usr/lib/libcuda.so.1", "libcuda.so.535.183.01");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1", cache_flags);

    EXPECT_THAT(paths(found()), ElementsAre("ROOT/usr/lib64/libcuda.so.535.183.01"));
}

TEST_F(UserSpaceTest, RefusesALibraryWithoutItsSoname)
{
    tree_.library("usr/lib64/libcuda.so.535.183.01", "");
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT: "
                         "ROOT/usr/lib64/libcuda.so.1 has no soname");
}

TEST_F(UserSpaceTest, RefusesALibraryOfAnotherSoname)
{
    tree_.library("usr/lib64/libcuda.so.535.183.01", "libz.so.1");
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT: "
                         "ROOT/usr/lib64/libcuda.so.1 has the soname libz.so.1");
}

TEST_F(UserSpaceTest, RefusesWhatHasNoDriverVersion)
{
    tree_.library("usr/lib64/libcuda.so.1", "libcuda.so.1");

    EXPECT_EQ(problem(std::nullopt), "no libcuda.so.1 in ROOT: ROOT/usr/lib64/libcuda.so.1 has no "
                                     "driver version in its name");
}

TEST_F(UserSpaceTest, RefusesWhatIsNoElfFile)
{
    tree_.file("usr/lib64/libcuda.so.535.183.01", "INPUT(-lcuda and more to fill a header)");
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.535.183.01");

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT: "
                         "ROOT/usr/lib64/libcuda.so.1 not an ELF file");
}

TEST_F(UserSpaceTest, PassesOverStubsAndCompatCopies)
{
    install("usr/local/cuda/lib64/stubs", "libcuda.so.1");
    install("usr/local/cuda/compat", "libcuda.so.1");
    install("usr/lib64", "libcuda.so.1");
    for (const char* directory :
         {"/usr/local/cuda/lib64/stubs/", "/usr/local/cuda/compat/", "/usr/lib64/"})
        tree_.remember("libcuda.so.1", directory + std::string("libcuda.so.1"));

    const UserSpace space = found();

    EXPECT_EQ(with_root(space.library_directory), "ROOT/usr/lib64");
    EXPECT_THAT(skipped(space, "libcuda.so.1"),
                ElementsAre("ROOT/usr/local/cuda/lib64/stubs/libcuda.so.1: is a stub to link "
                            "against, not the driver",
                            "ROOT/usr/local/cuda/compat/libcuda.so.1: is a forward-compatibility "
                            "copy of the CUDA toolkit"));
}

TEST_F(UserSpaceTest, RefusesLinksIntoStubAndCompatDirectories)
{
    install("opt/cuda/stubs", "libcuda.so.1");
    install("opt/cuda/compat", "libcuda.so.1");
    tree_.link("usr/lib64/libcuda.so.1", "/opt/cuda/stubs/libcuda.so.1");
    tree_.link("usr/local/nvidia/lib64/libcuda.so.1", "/opt/cuda/compat/libcuda.so.1");

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT: "
                         "ROOT/usr/lib64/libcuda.so.1 is a stub to link against, not the driver; "
                         "ROOT/usr/local/nvidia/lib64/libcuda.so.1 is a forward-compatibility copy "
                         "of the CUDA toolkit");
}

TEST_F(UserSpaceTest, TakesTheDriverAlthoughACompatDirectoryLinksToIt)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.link("usr/local/cuda/compat/libcuda.so.1", "/usr/lib64/libcuda.so.535.183.01");
    tree_.remember("libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1");

    EXPECT_EQ(with_root(found().library_directory), "ROOT/usr/lib64");
}

TEST_F(UserSpaceTest, PassesOverDanglingCacheEntries)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.link("opt/gone/libcuda.so.1", "libcuda.so.535.183.01");
    tree_.remember("libcuda.so.1", "/nowhere/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/opt/gone/libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib64/libcuda.so.1");

    EXPECT_EQ(with_root(found().library_directory), "ROOT/usr/lib64");
}

TEST_F(UserSpaceTest, DoesNotFollowLinksOutOfTheDriverRoot)
{
    test::DriverTree host;
    host.library("libcuda.so.535.183.01", "libcuda.so.1");
    tree_.link("usr/lib64/libcuda.so.1", host.at("libcuda.so.535.183.01").string());
    tree_.link("usr/local/nvidia/lib64/libcuda.so.1",
               "../../../../../../../.." + host.at("libcuda.so.535.183.01").string());
    tree_.remember("libcuda.so.1", "/../../.." + host.at("libcuda.so.535.183.01").string());

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT");
}

TEST_F(UserSpaceTest, FollowsAbsoluteLinksInsideTheDriverRoot)
{
    tree_.library("opt/nvidia/libcuda.so.535.183.01", "libcuda.so.1");
    tree_.link("usr/lib64/libcuda.so.1", "/opt/nvidia/libcuda.so.535.183.01");

    EXPECT_THAT(paths(found()), ElementsAre("ROOT/opt/nvidia/libcuda.so.535.183.01"));
}

TEST_F(UserSpaceTest, DoesNotWaitForAFifo)
{
    tree_.directory("usr/lib64");
    ASSERT_EQ(::mkfifo(tree_.at("usr/lib64/libcuda.so.1").c_str(), 0600), 0);

    EXPECT_EQ(problem(), "no libcuda.so.1 of version 535.183.01 in ROOT: "
                         "ROOT/usr/lib64/libcuda.so.1 /usr/lib64/libcuda.so.1: not a regular file");
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
