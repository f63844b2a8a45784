// SPDX-License-Identifier: MIT
#include "rootfs/root.hpp"

#include "rootfs/real_path.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

namespace gpucontainer::rootfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RootTest : public ::testing::Test {
protected:
    Root root() const
    {
        auto opened = Root::open(tree_.open().get());
        EXPECT_TRUE(opened) << opened.error().message();
        return *std::move(opened);
    }

    EntryType look(const std::string& path) const { return root().look(path).type; }
    EntryType resolve(const std::string& path) const { return root().resolve(path).type; }

    std::string read(const std::string& path) const
    {
        constexpr std::size_t limit = 64;
        const auto content = root().read(path, limit);
        return content ? *content : content.error().message();
    }

    test::TempRoot tree_;
    test::TempRoot outside_;
};

TEST_F(RootTest, LooksAtTheNameItselfAndResolvesWhatItLeadsTo)
{
    tree_.file("usr/lib/libx.so.1", "12345");
    tree_.link("usr/lib/libx.so", "libx.so.1");
    tree_.link("lib", "usr/lib");

    EXPECT_EQ(look("/lib/libx.so"), EntryType::link);
    EXPECT_EQ(resolve("/lib/libx.so"), EntryType::regular);
    EXPECT_EQ(root().resolve("/lib/libx.so").size, 5U);
    EXPECT_TRUE(root().resolve("/lib/libx.so").same_file(root().look("/usr/lib/libx.so.1")));
    EXPECT_EQ(root().link_target("/lib/libx.so"), "libx.so.1");
    EXPECT_EQ(root().link_target("/lib/libx.so.1"), "");
    EXPECT_EQ(root().link_target("/nowhere"), "");
}

TEST_F(RootTest, TellsWhereAPathLeads)
{
    tree_.file("usr/lib/libx-2.31.so", "12345");
    tree_.link("usr/lib/libx.so", "libx-2.31.so");
    tree_.link("lib", "usr/lib");
    tree_.link("lib64", "/lib");
    tree_.link("up", "../../../../lib/../lib/./libx.so");
    tree_.link("around", "around");
    tree_.link("dangling", "nowhere");
    tree_.link("top", "..");
    const Root root = this->root();

    for (const char* path :
         {"/usr/lib/libx-2.31.so", "/lib64/libx.so", "/up", "//lib/.//libx.so", "/../lib/libx.so"})
        EXPECT_EQ(real_path(root, path), "/usr/lib/libx-2.31.so") << path;
    for (const char* path : {"/", "/top", "/lib/../.."})
        EXPECT_EQ(real_path(root, path), "/") << path;
    for (const char* path :
         {"/around", "/dangling", "/nowhere", "/around/x", "/usr/nowhere/../lib/x"})
        EXPECT_EQ(real_path(root, path), std::nullopt) << path;
}

TEST_F(RootTest, FollowsNoEndlessLinks)
{
    std::string text;
    for (int i = 0; i < 500; ++i)
        text += "x/../";
    tree_.directory("x");
    tree_.link("long", text + "long");
    std::string deep = "/";
    for (int i = 0; i < 3000; ++i)
        deep += "y/";

    EXPECT_EQ(real_path(root(), "/long"), std::nullopt);
    EXPECT_EQ(real_path(root(), deep), std::nullopt);
}

TEST_F(RootTest, TellsWhatKindOfThingANameIs)
{
    tree_.directory("directory");
    tree_.link("dangling", "nowhere");
    ASSERT_EQ(::mkfifo(tree_.at("fifo").c_str(), 0600), 0);

    EXPECT_EQ(look("/directory"), EntryType::directory);
    EXPECT_EQ(look("/dangling"), EntryType::link);
    EXPECT_EQ(resolve("/dangling"), EntryType::none);
    EXPECT_EQ(look("/fifo"), EntryType::other);
    EXPECT_EQ(look("/nowhere"), EntryType::none);
    EXPECT_EQ(look("/fifo/below"), EntryType::none);
    EXPECT_FALSE(root().look("/nowhere"));
    EXPECT_FALSE(root().look("/nowhere").same_file(root().look("/nowhere")));
}

TEST_F(RootTest, TellsPermissionBitsAndTime)
{
    tree_.file("file");
    ASSERT_EQ(::chmod(tree_.at("file").c_str(), 04711), 0);
    const std::array<timespec, 2> times = {timespec{1, 2}, timespec{3, 4}};
    ASSERT_EQ(::utimensat(AT_FDCWD, tree_.at("file").c_str(), times.data(), 0), 0);

    EXPECT_EQ(root().look("/file").mode, 04711U);
    EXPECT_EQ(root().look("/file").mtime_ns, 3'000'000'004);
}

TEST_F(RootTest, FollowsNoLinkOutOfIt)
{
    outside_.file("secret", "secret");
    const std::string secret = outside_.at("secret").string();
    tree_.link("absolute", secret);
    tree_.link("relative", "../../../../../../.." + secret);
    tree_.link("directory", outside_.at("").string());

    EXPECT_EQ(resolve("/absolute"), EntryType::none);
    EXPECT_EQ(resolve("/relative"), EntryType::none);
    EXPECT_EQ(resolve("/directory/secret"), EntryType::none);
    EXPECT_EQ(resolve("/../../.." + secret), EntryType::none);
    EXPECT_EQ(read("/absolute"), "/absolute: No such file or directory");
    EXPECT_EQ(read("/relative"), "/relative: No such file or directory");
    EXPECT_EQ(root().link_target("/directory/secret"), "");
    EXPECT_FALSE(root().is_empty_directory("/directory"));
}

TEST_F(RootTest, EndsAtItself)
{
    tree_.link("up", "../../..");
    tree_.file("here", "inside");

    EXPECT_TRUE(root().resolve("/up").same_file(root().look("/")));
    EXPECT_EQ(read("/up/../../here"), "inside");
}

TEST_F(RootTest, FollowsNoMagicLinksOfProcfs)
{
    const base::UniqueFd host(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));

    const auto root = Root::open(host.get());

    ASSERT_TRUE(root) << root.error().message();
    EXPECT_EQ(root->resolve("/etc").type, EntryType::directory);
    EXPECT_EQ(root->look("/proc/self/exe").type, EntryType::link);
    EXPECT_EQ(root->resolve("/proc/self/exe").type, EntryType::none);
    EXPECT_EQ(root->resolve("/proc/self/root/etc").type, EntryType::none);
    EXPECT_EQ(root->resolve("/proc/self/cwd").type, EntryType::none);
}

TEST_F(RootTest, GivesUpOnLinksWithoutEnd)
{
    tree_.link("circle", "circle");
    tree_.file("link0");
    for (int i = 1; i <= 45; ++i)
        tree_.link("link" + std::to_string(i), "link" + std::to_string(i - 1));

    EXPECT_EQ(resolve("/circle"), EntryType::none);
    EXPECT_EQ(resolve("/link40"), EntryType::regular);
    EXPECT_EQ(resolve("/link41"), EntryType::none);
    EXPECT_EQ(look("/link45"), EntryType::link);
}

TEST_F(RootTest, ReadsSmallRegularFilesOnly)
{
    tree_.file("small", "content");
    tree_.file("large", std::string(65, 'x'));
    tree_.directory("directory");
    ASSERT_EQ(::mkfifo(tree_.at("fifo").c_str(), 0600), 0);

    EXPECT_EQ(root().read("/large", 64).error().code(), Errc::rootfs);
    EXPECT_EQ(root().read("/fifo", 64).error().code(), Errc::rootfs);
    EXPECT_EQ(read("/small"), "content");
    EXPECT_EQ(read("/large"), "/large: read: File too large");
    EXPECT_EQ(read("/directory"), "/directory: not a regular file");
    EXPECT_EQ(read("/fifo"), "/fifo: not a regular file");
}

/// Opening some devices has effects, and a hostile image may hold any.
TEST_F(RootTest, DoesNotOpenWhatIsNoRegularFile)
{
    ASSERT_EQ(::mkfifo(tree_.at("fifo").c_str(), 0600), 0);
    const base::UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(::inotify_add_watch(watch.get(), tree_.at("fifo").c_str(), IN_OPEN), 0);

    (void)root().look("/fifo");
    (void)root().resolve("/fifo");
    (void)root().read("/fifo", 1);
    (void)root().is_empty_directory("/fifo");

    std::array<char, 256> event = {};
    const ssize_t got = ::read(watch.get(), event.data(), event.size());
    EXPECT_TRUE(got < 0 && errno == EAGAIN) << "something was opened";
}

/// Its owner may take a lease, and open() waits for its end.
TEST_F(RootTest, WaitsForNoLease)
{
    tree_.file("leased", "x");
    (void)::signal(SIGIO, SIG_IGN); // tells the holder that somebody waits
    const base::UniqueFd holder(::open(tree_.at("leased").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
    EXPECT_THAT(read("/leased"), HasSubstr("/leased: another process has a lease on it"));
    ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_UNLCK), 0);
    EXPECT_EQ(read("/leased"), "x");
}

TEST_F(RootTest, KnowsAnEmptyDirectory)
{
    tree_.directory("empty");
    tree_.file("full/.hidden");
    tree_.file("file");

    EXPECT_TRUE(root().is_empty_directory("/empty"));
    EXPECT_FALSE(root().is_empty_directory("/full"));
    EXPECT_FALSE(root().is_empty_directory("/file"));
    EXPECT_FALSE(root().is_empty_directory("/nowhere"));
}

TEST_F(RootTest, FindsTheNearestDirectory)
{
    tree_.directory("usr/lib");
    tree_.file("usr/file");
    tree_.link("lib", "usr/lib");

    EXPECT_EQ(nearest_directory(root(), "/usr/lib/a/b"), "/usr/lib");
    EXPECT_EQ(nearest_directory(root(), "/usr/lib"), "/usr/lib");
    EXPECT_EQ(nearest_directory(root(), "/usr/file/a"), "/usr");
    EXPECT_EQ(nearest_directory(root(), "/lib/a"), "/lib");
    EXPECT_EQ(nearest_directory(root(), "/opt/a"), "/");
    EXPECT_EQ(nearest_directory(root(), "/"), "/");
    EXPECT_EQ(nearest_directory(root(), ""), "/");
}

TEST_F(RootTest, KnowsWhichDirectoryItIs)
{
    struct stat status = {};
    ASSERT_EQ(::stat(tree_.at("").c_str(), &status), 0);

    const RootFacts facts = root().facts();

    EXPECT_EQ(facts.device, status.st_dev);
    EXPECT_EQ(facts.inode, status.st_ino);
    EXPECT_TRUE(facts.own);
    EXPECT_TRUE(facts.writable);
    EXPECT_FALSE(facts.read_only);
    EXPECT_FALSE(facts.network);
}

TEST_F(RootTest, KnowsADirectoryOfSomebodyElse)
{
    constexpr uid_t nobody = 65534;
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root gives directories away";
    ASSERT_EQ(::chown(tree_.at("").c_str(), nobody, nobody), 0);

    EXPECT_FALSE(root().facts().own);
    EXPECT_TRUE(root().facts().writable) << "root writes everywhere";
}

TEST_F(RootTest, KnowsWhatItMayNotWrite)
{
    const base::UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));

    const auto root = Root::open(proc.get());

    ASSERT_TRUE(root) << root.error().message();
    EXPECT_EQ(root->facts().own, ::geteuid() == 0);
    EXPECT_EQ(root->facts().writable, ::access("/proc", W_OK) == 0);
}

TEST_F(RootTest, TellsAnotherTmpfsFromItsOwnFiles)
{
    const base::UniqueFd host(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct statfs shm = {};
    if (::statfs("/dev/shm", &shm) != 0 || shm.f_type != TMPFS_MAGIC)
        GTEST_SKIP() << "/dev/shm is no tmpfs here";

    const auto root = Root::open(host.get());

    ASSERT_TRUE(root) << root.error().message();
    EXPECT_TRUE(root->resolve("/dev/shm").own_tmpfs);
    EXPECT_FALSE(root->resolve("/").own_tmpfs);
    EXPECT_FALSE(root->resolve("/proc").own_tmpfs);
    tree_.directory("dev");
    EXPECT_FALSE(this->root().resolve("/dev").own_tmpfs);
    const base::UniqueFd on_tmpfs(::open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_FALSE(Root::open(on_tmpfs.get())->resolve("/").own_tmpfs);
}

TEST_F(RootTest, TellsDirectoriesThatAreForNames)
{
    const base::UniqueFd host(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    tree_.directory("usr");
    const auto root = this->root();

    EXPECT_TRUE(root.is_for_names("/usr"));
    EXPECT_FALSE(root.is_for_names("/missing"));
    EXPECT_EQ(Root::open(host.get())->is_for_names("/dev/shm"), ::access("/dev/shm", W_OK) == 0);
}

TEST_F(RootTest, AsksForWhoMakesTheNames)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can ask for others";
    tree_.directory("usr");
    const base::UniqueFd fd = tree_.open();

    const auto root = Root::open(fd.get(), privilege::Owner{65534, 65534});

    ASSERT_TRUE(root) << root.error().message();
    EXPECT_FALSE(root->facts().own);
    EXPECT_FALSE(root->facts().writable);
    EXPECT_FALSE(root->is_for_names("/usr"));
}

TEST_F(RootTest, MustBeAnOpenDirectory)
{
    tree_.file("file");
    const base::UniqueFd file(::open(tree_.at("file").c_str(), O_PATH | O_CLOEXEC));

    const auto not_directory = Root::open(file.get());
    const auto not_open = Root::open(-1);

    ASSERT_FALSE(not_directory);
    EXPECT_EQ(not_directory.error().code(), Errc::rootfs);
    EXPECT_EQ(not_directory.error().message(), "the root file system is not a directory");
    ASSERT_FALSE(not_open);
    EXPECT_EQ(not_open.error().code(), Errc::usage);
    EXPECT_EQ(not_open.error().message(), "the root file system is not an open descriptor");
}

/// No further descriptor can be had meanwhile.
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
    ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

private:
    rlimit before_ = {};
};

TEST_F(RootTest, SaysAfterwardsThatALookFailed)
{
    tree_.file("etc/ld.so.cache");
    tree_.link("link", "etc");
    const std::vector<std::function<void(const Root&)>> looks = {
        [](const Root& root) { EXPECT_FALSE(root.look("/etc/ld.so.cache")); },
        [](const Root& root) { EXPECT_FALSE(root.resolve("/etc/ld.so.cache")); },
        [](const Root& root) { EXPECT_THAT(root.present("/etc", {"ld.so.cache"}), IsEmpty()); },
        [](const Root& root) { EXPECT_EQ(root.link_target("/link"), ""); },
        [](const Root& root) { EXPECT_FALSE(root.is_empty_directory("/etc")); },
    };
    for (const auto& look : looks) {
        const Root looked_at = root();
        {
            const NoDescriptors none;
            look(looked_at);
        }
        const auto checked = looked_at.check();
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code(), Errc::rootfs);
        EXPECT_THAT(checked.error().message(), HasSubstr("Too many open files"));
    }
}

TEST(RealPath, FollowsASumOfNamesAtMost)
{
    const auto follow = [](int times) {
        std::string target;
        for (int i = 0; i < times; ++i)
            target += "/x/..";
        return follow_links(
            "/link", LastLink::followed,
            [](const std::string& name) {
                return name == "/link" ? EntryType::link : EntryType::directory;
            },
            [&](const std::string&) { return target + "/y"; });
    };
    EXPECT_EQ(follow(100), "/y");
    EXPECT_EQ(follow(200), std::nullopt);
}

TEST_F(RootTest, TakesWhatIsNotThereForAnAnswer)
{
    tree_.file("file");
    tree_.link("loop", "loop");
    const Root looked_at = root();

    for (const char* path : {"/none", "/file/below", "/loop", "/none/below"}) {
        EXPECT_FALSE(looked_at.resolve(path));
        EXPECT_EQ(looked_at.link_target(path), path == std::string("/loop") ? "loop" : "");
        EXPECT_FALSE(looked_at.is_empty_directory(path));
        EXPECT_THAT(looked_at.present(path, {"name"}), IsEmpty());
    }

    EXPECT_TRUE(looked_at.check());
}

} // namespace
} // namespace gpucontainer::rootfs
