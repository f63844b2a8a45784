// SPDX-License-Identifier: MIT
#include "rootfs/layout.hpp"

#include "rootfs/root.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::rootfs {
namespace {

using ::testing::ElementsAre;

class LayoutTest : public ::testing::Test {
protected:
    Result<Layout> find(const std::vector<std::string>& further = {}) const
    {
        const auto root = Root::open(image_.open().get());
        EXPECT_TRUE(root) << root.error().message();
        return find_layout(*root, elf::own_machine(), further);
    }

    Layout found() const
    {
        auto layout = find();
        EXPECT_TRUE(layout) << layout.error().message();
        return layout ? *std::move(layout) : Layout();
    }

    const std::string loader_ = std::string(elf::own_machine().loader.substr(1));
    const std::string multiarch_ = library_directories(elf::own_machine()).front();
    test::TempRoot image_;
};

TEST_F(LayoutTest, IsDebiansWithMergedUsr)
{
    image_.link("lib", "usr/lib");
    image_.link("lib64", "usr/lib64");
    image_.file("usr/" + loader_);
    image_.file(multiarch_.substr(1) + "/libc.so.6");

    const Layout layout = found();

    EXPECT_EQ(layout.loader, elf::own_machine().loader);
    EXPECT_EQ(layout.library_directory, multiarch_);
    EXPECT_EQ(layout.searched_directories.front(), multiarch_);
    EXPECT_THAT(layout.searched_directories, ::testing::Contains("/usr/lib"));
    EXPECT_THAT(layout.searched_directories, ::testing::Not(::testing::Contains("/lib64")));
}

TEST_F(LayoutTest, IsDebiansWithoutMergedUsr)
{
    const std::string library_directory = multiarch_.substr(4); // without "/usr"
    image_.file(loader_);
    image_.file(library_directory.substr(1) + "/libc.so.6");
    image_.directory(multiarch_.substr(1));

    const Layout layout = found();

    EXPECT_EQ(layout.library_directory, library_directory);
    EXPECT_THAT(layout.searched_directories,
                ::testing::IsSupersetOf({multiarch_, library_directory}));
}

TEST_F(LayoutTest, IsFedoras)
{
    image_.link("lib", "usr/lib");
    image_.link("lib64", "usr/lib64");
    image_.file("usr/" + loader_);
    image_.file("usr/lib64/libc.so.6");
    image_.directory("usr/lib");

    const Layout layout = found();

    EXPECT_EQ(layout.library_directory, "/usr/lib64");
    EXPECT_THAT(layout.searched_directories, ElementsAre("/usr/lib64", "/usr/lib"));
}

TEST_F(LayoutTest, IsFedorasAlthoughSomebodyMadeDebiansDirectory)
{
    image_.link("lib64", "usr/lib64");
    image_.file("usr/lib64/ld-linux-x86-64.so.2");
    image_.file("lib/ld-linux-aarch64.so.1");
    image_.file("usr/lib64/libc.so.6");
    image_.directory(multiarch_.substr(1));

    const Layout layout = found();

    EXPECT_EQ(layout.library_directory, "/usr/lib64");
    EXPECT_EQ(layout.searched_directories.front(), multiarch_);
}

TEST_F(LayoutTest, NamesEachDirectoryOnceThoughLinksLeadToItAgain)
{
    image_.link("lib", "usr/lib");
    image_.link("lib64", "usr/lib");
    image_.link("usr/lib64", "lib");
    image_.file("usr/lib/" + std::string(loader_.substr(loader_.rfind('/') + 1)));

    EXPECT_THAT(found().searched_directories, ElementsAre("/usr/lib64"));
}

TEST_F(LayoutTest, LooksWhereImagesKeepADriverOnce)
{
    image_.file(loader_);
    image_.directory("opt/driver/lib64");
    image_.link("opt/driver/lib", "lib64");
    const std::vector<std::string> further = {"/opt/driver/lib64", "/opt/driver/lib", "/opt/none"};

    const auto layout = find(further);

    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->searched_directories.back(), "/opt/driver/lib64");
}

TEST_F(LayoutTest, IsNoneForAnImageWithMusl)
{
    image_.file("lib/ld-musl-x86_64.so.1");
    image_.directory("usr/lib");

    const auto layout = find();

    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().code(), Errc::rootfs);
    EXPECT_EQ(layout.error().object(), elf::own_machine().loader);
    EXPECT_EQ(layout.error().message(),
              "no " + std::string(elf::own_machine().loader)
                  + " in the root file system: its programs use musl (/lib/ld-musl-x86_64.so.1)");
    EXPECT_EQ(layout.error().hint(),
              "the driver's libraries need glibc of this machine's architecture; --vendor-libs "
              "none gives the container the device nodes alone");
}

TEST_F(LayoutTest, IsNoneForAnImageWithMuslThatCanStartGlibcsPrograms)
{
    image_.file("lib/ld-musl-x86_64.so.1");
    image_.file(loader_);

    const auto layout = find();

    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().message(), "no libc.so.6 in the root file system: its programs use "
                                        "musl (/lib/ld-musl-x86_64.so.1)");
}

TEST_F(LayoutTest, IsThatOfTheMachineThatIsAskedFor)
{
    image_.file("lib/ld-linux-aarch64.so.1");
    image_.file("usr/lib/aarch64-linux-gnu/libc.so.6");
    image_.directory(multiarch_.substr(1));
    const auto root = Root::open(image_.open().get());

    const auto layout = find_layout(*root, *elf::find_machine("aarch64"));
    const auto other = find_layout(*root, *elf::find_machine("ppc64le"));

    ASSERT_TRUE(layout) << layout.error().message();
    EXPECT_EQ(layout->loader, "/lib/ld-linux-aarch64.so.1");
    EXPECT_EQ(layout->library_directory, "/usr/lib/aarch64-linux-gnu");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message(),
              "no /lib64/ld64.so.2 in the root file system: its programs are for another "
              "architecture (/lib/ld-linux-aarch64.so.1)");
    EXPECT_EQ(other.error().hint(),
              "the driver's libraries need glibc of architecture ppc64le; --vendor-libs none "
              "gives the container the device nodes alone");
}

TEST_F(LayoutTest, IsNoneForAnImageOfAnotherArchitecture)
{
    image_.file("lib/ld-linux-riscv64-lp64d.so.1");

    const auto layout = find();

    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().message(),
              "no " + std::string(elf::own_machine().loader)
                  + " in the root file system: its programs are for another architecture "
                    "(/lib/ld-linux-riscv64-lp64d.so.1)");
}

TEST_F(LayoutTest, IsNoneForAnEmptyImage) { EXPECT_EQ(find().error().code(), Errc::rootfs); }

TEST_F(LayoutTest, IsNoneWhenTheLoaderIsOnlyOutside)
{
    test::TempRoot host;
    host.file("loader");
    image_.link(loader_, host.at("loader").string());

    EXPECT_EQ(find().error().code(), Errc::rootfs);
}

} // namespace
} // namespace gpucontainer::rootfs
