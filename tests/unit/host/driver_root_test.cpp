// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "host/driver_root.hpp"

#include "elf/ld_cache_writer.hpp"
#include "elf_stub.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>

namespace gpucontainer::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DriverRootTest : public ::testing::Test {
protected:
    std::string path() const { return tree_.at("usr").parent_path().string(); }

    DriverRoot root() const
    {
        auto opened = DriverRoot::open(path());
        EXPECT_TRUE(opened) << opened.error().message();
        return *std::move(opened);
    }

    /// Where the file really is, or why it is not opened.
    std::string opened(const std::string& name) const
    {
        const auto file = root().open_file(name);
        return file ? file->real_path : file.error().message();
    }

    /// Without the directories that every loader searches.
    std::vector<std::string> configured() const
    {
        auto all = root().configured_directories();
        const auto own = std::find_if(all.begin(), all.end(), [](const std::string& directory) {
            return directory.starts_with("/lib");
        });
        all.erase(own, all.end());
        return all;
    }

    void fifo(const std::string& name)
    {
        std::filesystem::create_directories(tree_.at(name).parent_path());
        ASSERT_EQ(::mkfifo(tree_.at(name).c_str(), 0600), 0);
    }

    test::TempRoot tree_;
    test::TempRoot outside_;
};

TEST_F(DriverRootTest, OpensAFileWithItsRealPath)
{
    tree_.file("usr/lib/real.so", "x");
    tree_.link("lib", "usr/lib");
    tree_.link("usr/lib/link.so", "/lib/real.so");

    const auto file = root().open_file("/lib/link.so");

    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->real_path, "/usr/lib/real.so");
    EXPECT_EQ(file->status.st_size, 1);
}

TEST_F(DriverRootTest, FollowsNoLinkOutOfIt)
{
    outside_.file("secret", "x");
    const std::string secret = outside_.at("secret").string();
    tree_.link("absolute", secret);
    tree_.link("relative", "../../../../../../../.." + secret);
    tree_.link("directory", outside_.at("").string());

    EXPECT_EQ(opened("/absolute"), "/absolute: No such file or directory");
    EXPECT_EQ(opened("/relative"), "/relative: No such file or directory");
    EXPECT_EQ(opened("/directory/secret"), "/directory/secret: No such file or directory");
    EXPECT_EQ(opened("/../../.." + secret), "/../../.." + secret + ": No such file or directory");
    EXPECT_THAT(root().list("/directory"), IsEmpty());
    EXPECT_THAT(root().list("/.."), ElementsAre("absolute", "directory", "relative"));
}

TEST_F(DriverRootTest, FollowsNoLinkOutOfItFromADirectoryThatIsOpen)
{
    outside_.file("secret.so", "x");
    tree_.file("opt/real.so");
    tree_.link("usr/lib/secret.so", outside_.at("secret.so").string());
    tree_.link("usr/lib/link.so", "/opt/real.so");
    const DriverRoot opened = root();
    const auto directory = opened.open_directory("/usr/lib");
    ASSERT_TRUE(directory);

    EXPECT_FALSE(opened.open_in(*directory, "secret.so"));
    EXPECT_EQ(opened.open_in(*directory, "link.so")->real_path, "/opt/real.so");
}

/// What is found then would be mounted by a path that leads elsewhere.
TEST_F(DriverRootTest, FindsNothingMoreOnceItIsAtAnotherPath)
{
    tree_.file("driver/usr/lib/libx.so");
    const auto opened = DriverRoot::open(path() + "/driver");
    ASSERT_TRUE(opened);
    std::filesystem::rename(tree_.at("driver"), tree_.at("moved-driver"));

    EXPECT_EQ(opened->open_file("/usr/lib/libx.so").error().message(),
              "/usr/lib/libx.so: lies outside the driver root");
    EXPECT_EQ(opened->open_directory("/usr/lib").error().message(),
              "/usr/lib: lies outside the driver root");
}

TEST_F(DriverRootTest, StaysInsideThroughLinksThatLookOutward)
{
    tree_.file("opt/real.so");
    tree_.link("usr/lib/real.so", "../../../../../../opt/real.so");

    EXPECT_EQ(opened("/usr/lib/real.so"), "/opt/real.so");
}

TEST_F(DriverRootTest, GivesUpOnLinksInACircle)
{
    tree_.link("a", "b");
    tree_.link("b", "a");

    EXPECT_EQ(opened("/a"), "/a: Too many levels of symbolic links");
}

TEST_F(DriverRootTest, OpensNothingButRegularFiles)
{
    tree_.directory("directory");
    tree_.link("null", "dev/null");
    fifo("fifo");

    EXPECT_EQ(opened("/directory"), "/directory: not a regular file");
    EXPECT_EQ(opened("/fifo"), "/fifo: not a regular file");
    EXPECT_EQ(opened("/null"), "/null: No such file or directory");
}

TEST_F(DriverRootTest, FollowsNoMagicLinksOfProcfs)
{
    const auto host = DriverRoot::open("/");
    ASSERT_TRUE(host) << host.error().message();

    EXPECT_EQ(host->prefix(), "");
    EXPECT_EQ(host->open_file("/proc/self/exe").error().os_error(), ELOOP);
    EXPECT_EQ(host->open_file("/proc/self/root/etc/passwd").error().os_error(), ELOOP);
    EXPECT_TRUE(host->open_file("/etc/passwd"));
}

TEST_F(DriverRootTest, ListsNamesInOrderAndNothingForWhatIsNoDirectory)
{
    tree_.file("usr/lib/b");
    tree_.file("usr/lib/a");

    EXPECT_THAT(root().list("/usr/lib"), ElementsAre("a", "b"));
    EXPECT_THAT(root().list("/usr/lib/a"), IsEmpty());
    EXPECT_THAT(root().list("/nowhere"), IsEmpty());
}

TEST_F(DriverRootTest, MustBeADirectory)
{
    tree_.file("file");

    const auto missing = DriverRoot::open(path() + "/missing");
    const auto file = DriverRoot::open(path() + "/file");

    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code(), Errc::driver);
    EXPECT_EQ(missing.error().message(),
              "driver root " + path() + "/missing: No such file or directory");
    EXPECT_EQ(missing.error().hint(), "name the directory that holds the driver's /usr and /etc");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message(), "driver root " + path() + "/file: Not a directory");
}

TEST_F(DriverRootTest, IsKnownByItsPathWithoutLinks)
{
    tree_.directory("driver");
    tree_.link("current", "driver");

    const auto linked = DriverRoot::open(path() + "/current");

    ASSERT_TRUE(linked) << linked.error().message();
    EXPECT_EQ(linked->prefix(), path() + "/driver");
}

TEST_F(DriverRootTest, ReadsItsOwnLoaderCache)
{
    tree_.file("etc/ld.so.cache",
               elf::merge(nullptr, {{"libx.so.1", "/usr/lib/libx.so.1"}})->bytes);

    ASSERT_TRUE(root().loader_cache());
    EXPECT_THAT(root().loader_cache()->lookup("libx.so.1"), SizeIs(1));
}

TEST_F(DriverRootTest, IsOfTheMachineOfItsLoader)
{
    EXPECT_EQ(root().machine().name, elf::own_machine().name);
    EXPECT_EQ(DriverRoot::open("/")->machine().name, elf::own_machine().name);

    tree_.file("lib64/ld64.so.2");

    EXPECT_EQ(root().machine().name, "ppc64le");
    EXPECT_THAT(root().configured_directories(),
                ::testing::Contains("/usr/lib/powerpc64le-linux-gnu"));

    tree_.file(std::string(elf::own_machine().loader.substr(1)));

    EXPECT_EQ(root().machine().name, elf::own_machine().name) << "it has programs of both";
}

TEST_F(DriverRootTest, IsOfTheMachineOfItsLibrariesIfItHasNoLoader)
{
    const auto stub = [](const char* elf_class, const char* machine) {
        return *simhost::make_elf_stub(
            {simhost::StubKind::library, elf_class, machine, "libx.so.1", {}, {}});
    };
    for (const char* const directory : {"", "usr/lib64/", "usr/lib/aarch64-linux-gnu/"}) {
        tree_.file(directory + std::string("libw.so"), "INPUT(libx.so.1)");
        tree_.file(directory + std::string("libx.so.0"), stub("ELF32", "Intel 80386"));
        tree_.file(directory + std::string("libx.so.1"), stub("ELF64", "AArch64"));
        EXPECT_EQ(root().machine().name, "aarch64") << directory;
        std::filesystem::remove(tree_.at(directory + std::string("libx.so.1")));
        EXPECT_EQ(root().machine().name, elf::own_machine().name) << directory;
    }
}

TEST_F(DriverRootTest, HasInTheLoaderCacheWhatItsMachineLoads)
{
    tree_.file("lib/ld-linux-aarch64.so.1");
    tree_.file("etc/ld.so.cache", elf::merge(nullptr, {{"libx.so.1", "/lib/libx.so.1", 0x0303},
                                                       {"libx.so.1", "/arm/libx.so.1", 0x0a03}})
                                      ->bytes);

    const auto opened = root();
    const auto found = opened.cached("libx.so.1");

    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found.front().value, "/arm/libx.so.1");
    EXPECT_TRUE(opened.is_loaded(found.front()));
    EXPECT_FALSE(opened.is_loaded(opened.loader_cache()->lookup("libx.so.1", 0x0303).front()));
}

TEST_F(DriverRootTest, HasNoLoaderCacheWhenThatIsDamaged)
{
    EXPECT_FALSE(root().loader_cache());
    tree_.file("etc/ld.so.cache", std::string(4096, 'x'));
    EXPECT_FALSE(root().loader_cache());
    tree_.file("etc/ld.so.cache", "");
    EXPECT_FALSE(root().loader_cache());
}

TEST_F(DriverRootTest, HasNoLoaderCacheWhenThatIsHuge)
{
    tree_.file("etc/ld.so.cache",
               elf::merge(nullptr, {{"libx.so.1", "/usr/lib/libx.so.1"}})->bytes);
    std::filesystem::resize_file(tree_.at("etc/ld.so.cache"), elf::max_cache_size + 1);

    EXPECT_FALSE(root().loader_cache());
}

TEST_F(DriverRootTest, HasNoLoaderCacheWhenThatIsAFifo)
{
    fifo("etc/ld.so.cache");

    EXPECT_FALSE(root().loader_cache());
}

TEST_F(DriverRootTest, ReadsTheLoadersConfiguration)
{
    tree_.file("etc/ld.so.conf", "# first\n/opt/a\t \n\n  /opt/b # why\nrelative\nhwcap 1 x\n"
                                 "include ld.so.conf.d/*.conf\ninclude\t/opt/*.list\n/opt/z");
    tree_.file("etc/ld.so.conf.d/2.conf", "/opt/d\n");
    tree_.file("etc/ld.so.conf.d/1.conf", "/opt/c\r\n");
    tree_.file("etc/ld.so.conf.d/.hidden.conf", "/opt/hidden\n");
    tree_.file("etc/ld.so.conf.d/note.txt", "/opt/note\n");
    tree_.file("opt/more.list", "/opt/e\n");

    EXPECT_THAT(configured(),
                ElementsAre("/opt/a", "/opt/b", "/opt/c", "/opt/d", "/opt/e", "/opt/z"));
}

TEST_F(DriverRootTest, ReadsEachPatternOfAnInclude)
{
    tree_.file("etc/ld.so.conf", "include one.conf  two.conf\n");
    tree_.file("etc/one.conf", "/opt/one\n");
    tree_.file("etc/two.conf", "/opt/two\n");

    EXPECT_THAT(configured(), ElementsAre("/opt/one", "/opt/two"));
}

TEST_F(DriverRootTest, ReadsNoConfigurationFromOutside)
{
    outside_.file("evil.conf", "/opt/evil\n");
    tree_.file("etc/ld.so.conf", "include ld.so.conf.d/*.conf\ninclude /../.."
                                     + outside_.at("*.conf").string() + "\n");
    tree_.link("etc/ld.so.conf.d/evil.conf", outside_.at("evil.conf").string());
    tree_.link("etc/ld.so.conf.d/other.conf",
               "../../../../../.." + outside_.at("evil.conf").string());

    EXPECT_THAT(configured(), IsEmpty());
}

TEST_F(DriverRootTest, EndsAnIncludeOfItself)
{
    tree_.file("etc/ld.so.conf", "/opt/a\ninclude /etc/ld.so.conf\n");

    EXPECT_LE(configured().size(), 10U);
}

TEST_F(DriverRootTest, EndsIncludesThatMultiply)
{
    for (int i = 0; i < 20; ++i)
        tree_.file(base::format("etc/d/{}.conf", i), "include *.conf\n");
    tree_.file("etc/ld.so.conf", "include d/*.conf\n/opt/a\n");

    EXPECT_THAT(configured(), ElementsAre("/opt/a"));
}

TEST_F(DriverRootTest, TakesNoMoreDirectoriesThanMakeSense)
{
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += base::format("/opt/{}\n", i);
    tree_.file("etc/ld.so.conf", many);

    EXPECT_THAT(configured(), SizeIs(256));
}

TEST_F(DriverRootTest, SkipsConfigurationThatIsNoFileOrTooLong)
{
    fifo("etc/ld.so.conf.d/1.conf");
    tree_.directory("etc/ld.so.conf.d/2.conf");
    tree_.file("etc/ld.so.conf.d/3.conf", "/opt/long\n" + std::string(300'000, '#'));
    tree_.file("etc/ld.so.conf.d/4.conf", "/opt/d\n");
    tree_.file("etc/ld.so.conf", "include ld.so.conf.d/*.conf\n");

    EXPECT_THAT(configured(), ElementsAre("/opt/d"));
}

/// No file can be opened any more while there is one.
class NoDescriptors {
public:
    NoDescriptors()
    {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlimit none = {0, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    ~NoDescriptors() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_ = {};
};

TEST_F(DriverRootTest, DoesNotTakeWhatCouldNotBeLookedAtForNothing)
{
    tree_.file("usr/lib/libcuda.so.1", "");
    const DriverRoot found = root();
    EXPECT_FALSE(found.open_file("/usr/lib/libcuda.so.2"));
    EXPECT_FALSE(found.open_file("/usr/lib/libcuda.so.1/file"));
    EXPECT_TRUE(found.check());
    {
        const NoDescriptors none;
        EXPECT_THAT(found.list("/usr/lib"), IsEmpty());
        EXPECT_FALSE(found.look("/usr/lib/libcuda.so.1"));
    }
    EXPECT_TRUE(found.look("/usr/lib/libcuda.so.1"));

    const auto checked = found.check();

    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().os_error(), EMFILE);
    EXPECT_EQ(checked.error().object(), path() + "/usr/lib");
    EXPECT_EQ(checked.error().code(), Errc::driver);
}

} // namespace
} // namespace gpucontainer::host
