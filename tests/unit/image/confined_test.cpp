// SPDX-License-Identifier: MIT
#include "image/confined.hpp"

#include "image/messages.hpp"
#include "unit/image/made_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <sched.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::image {
namespace {

/// Code that a hostile image got to run: it says which error it met.
class TakenOver final : public FileSystem {
public:
    explicit TakenOver(std::function<int()> deed = [] { return 0; }) : deed_(std::move(deed)) {}

    Result<Reference> root() override { return Reference{0}; }
    Result<Inode> inode(Reference /*place*/) override
    {
        Inode inode;
        inode.type = rootfs::EntryType::regular;
        inode.size = static_cast<std::uint64_t>(deed_());
        return inode;
    }
    Result<std::vector<Name>> list(Reference /*directory*/) override { return names; }
    Result<std::size_t> read(Reference /*file*/, std::uint64_t /*offset*/,
                             std::span<char> bytes) override
    {
        return bytes.size() + added;
    }

    std::vector<Name> names;
    std::size_t added = 0; ///< Bytes that it says it read beyond those that it was asked for.

private:
    std::function<int()> deed_;
};

class ConfinedTest : public ::testing::Test {
protected:
    auto open(const TakenOver& taken_over, const Limits& limits = {}) const
    {
        return open_confined(
            image_.get(),
            [&](int) {
                return std::unique_ptr<FileSystem>(std::make_unique<TakenOver>(taken_over));
            },
            limits);
    }

    Result<Inode> do_confined(const std::function<int()>& deed) const
    {
        auto files = open(TakenOver(deed), {std::size_t{64} << 20U, 1});
        EXPECT_TRUE(files) << files.error().message();
        return (*files)->inode(0);
    }

    /// errno of the deed in the process, or 0.
    int error_of_deed(const std::function<int()>& deed) const
    {
        const auto done = do_confined(deed);
        EXPECT_TRUE(done) << done.error().message();
        return done ? static_cast<int>(done->size) : -1;
    }

    base::UniqueFd image_ = test::file_of("content");
    test::TempRoot tree_;
};

int error_if(bool failed) { return failed ? errno : 0; }

int run_for_ever()
{
    const volatile bool goes_on = true;
    while (goes_on)
        continue;
    return 0;
}

TEST_F(ConfinedTest, CanDoNothingButReadTheImage)
{
    tree_.file("secret", "secret");
    const base::UniqueFd secret(::open(tree_.at("secret").c_str(), O_RDWR | O_CLOEXEC));
    const std::string path = tree_.at("secret");
    char byte = 0;
    const pid_t caller = ::getpid();
    EXPECT_EQ(error_of_deed([&] { return error_if(::pread(1, &byte, 1, 0) != 1); }), 0);
    EXPECT_EQ(error_of_deed([&] { return error_if(::open(path.c_str(), O_RDONLY) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::unlink(path.c_str()) != 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::pread(secret.get(), &byte, 1, 0) < 0); }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::write(1, &byte, 1) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::write(2, "x", 1) < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::kill(caller, 0) != 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::fork() < 0); }), EPERM);
    EXPECT_EQ(error_of_deed([&] { return error_if(::socket(AF_INET, SOCK_STREAM, 0) < 0); }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] {
                  return error_if(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  == MAP_FAILED);
              }),
              EPERM);
    // The caller's descriptor can write.
    EXPECT_EQ(error_of_deed([&] {
                  return error_if(::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, 1, 0)
                                  == MAP_FAILED);
              }),
              EPERM);
    EXPECT_EQ(error_of_deed([&] {
                  alignas(4096) static std::array<char, 4096> page;
                  return error_if(::mprotect(page.data(), page.size(), PROT_READ | PROT_EXEC) != 0);
              }),
              EPERM);
}

/// A page that this process shares with others, and maps by `protection`.
class SharedPage {
public:
    explicit SharedPage(int protection)
        : file_(test::file_of(std::string(size, 'a'))),
          at_(static_cast<char*>(::mmap(nullptr, size, protection, MAP_SHARED, file_.get(), 0)))
    {
    }
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;
    ~SharedPage() { (void)::munmap(at_, size); }

    char* at() const { return at_; }
    /// As the others see it.
    char first() const
    {
        char byte = 0;
        EXPECT_EQ(::pread(file_.get(), &byte, 1, 0), 1);
        return byte;
    }

    static constexpr std::size_t size = 4096;

private:
    base::UniqueFd file_;
    char* at_;
};

TEST_F(ConfinedTest, ChangesNothingThatItsCallerSharesWithOthers)
{
    const SharedPage written(PROT_READ | PROT_WRITE);
    const SharedPage looked_at(PROT_READ);
    const SharedPage closed(PROT_NONE);

    (void)do_confined([&] { return *written.at() = 'b'; });
    for (const SharedPage* page : {&written, &looked_at, &closed})
        (void)do_confined([&] { return ::madvise(page->at(), SharedPage::size, MADV_REMOVE); });

    for (const SharedPage* page : {&written, &looked_at, &closed})
        EXPECT_EQ(page->first(), 'a');
}

TEST_F(ConfinedTest, GivesNoAdviceButThatOfAllocators)
{
    for (const int advice : {MADV_REMOVE, MADV_WILLNEED, MADV_MERGEABLE, MADV_DONTDUMP})
        EXPECT_EQ(error_of_deed(
                      [&] { return error_if(::madvise(nullptr, SharedPage::size, advice) != 0); }),
                  EPERM);
    EXPECT_EQ(error_of_deed([] {
                  void* const page = ::mmap(nullptr, SharedPage::size, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  return error_if(::madvise(page, SharedPage::size, MADV_DONTNEED) != 0);
              }),
              0);
}

TEST_F(ConfinedTest, NeedsProcToFindWhatItSharesWithOthers)
{
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        GTEST_SKIP() << "no mount namespace can be made here";
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    tree_.directory("empty");
    ASSERT_EQ(::mount(tree_.at("empty").c_str(), "/proc", nullptr, MS_BIND, nullptr), 0);

    const auto files = open(TakenOver());
    ASSERT_EQ(::umount2("/proc", MNT_DETACH), 0);

    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code(), Errc::requirement);
}

/// A caller would wait for the end of its pipe.
TEST_F(ConfinedTest, HasNoDescriptorOfItsCaller)
{
    std::array<int, 2> ends = {-1, -1};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const base::UniqueFd reads(ends[0]);
    base::UniqueFd writes(ends[1]);

    const auto files = open(TakenOver());
    ASSERT_TRUE(files);
    writes.reset();

    pollfd end = {reads.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&end, 1, 0), 1);
    EXPECT_EQ(end.revents, POLLHUP);
}

#ifdef __x86_64__
/// The number that is sched_yield() here is getuid() there.
int call_as_i386()
{
    long result = SYS_sched_yield;
    asm volatile("int $0x80" : "+a"(result) : : "memory");
    return result < 0 ? static_cast<int>(-result) : 0;
}

TEST_F(ConfinedTest, HasNoCallsOfAnotherArchitecture)
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(call_as_i386());
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0)
        GTEST_SKIP() << "this kernel has no calls of i386";

    EXPECT_EQ(error_of_deed(call_as_i386), EPERM);
}
#endif

TEST_F(ConfinedTest, GetsLittleProcessorTime)
{
    const auto start = std::chrono::steady_clock::now();
    const auto done = do_confined(run_for_ever);

    ASSERT_FALSE(done);
    EXPECT_EQ(os_error_of(done.error()), EBADMSG);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST_F(ConfinedTest, GetsLittleMemory)
{
    EXPECT_EQ(error_of_deed([] {
                  return error_if(::mmap(nullptr, std::size_t{128} << 20U, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                  == MAP_FAILED);
              }),
              ENOMEM);
}

TEST_F(ConfinedTest, IsAnErrorWhenItFails)
{
    for (const std::function<int()>& deed :
         {std::function<int()>([]() -> int { ::_exit(0); }),
          std::function<int()>([]() -> int { __builtin_trap(); })}) {
        const auto done = do_confined(deed);
        ASSERT_FALSE(done);
        EXPECT_EQ(os_error_of(done.error()), EBADMSG);
    }
}

TEST_F(ConfinedTest, IsNotWaitedForWithoutEnd)
{
    // Who sleeps uses no processor time.
    auto files = open(TakenOver([] {
                          char byte = 0;
                          return static_cast<int>(::read(channel_number, &byte, 1));
                      }),
                      {std::size_t{64} << 20U, 10, 1});
    ASSERT_TRUE(files);
    const auto done = (*files)->inode(0);
    ASSERT_FALSE(done);
    EXPECT_EQ(os_error_of(done.error()), EBADMSG);
}

TEST_F(ConfinedTest, IsNotBelievedWhatCannotBe)
{
    using rootfs::EntryType;
    const std::vector<std::vector<Name>> lists = {
        {{"a/b", 1, EntryType::regular}},
        {{"..", 1, EntryType::directory}},
        {{"", 1, EntryType::regular}},
        {{std::string("a\0b", 3), 1, EntryType::regular}},
        {{std::string(257, 'a'), 1, EntryType::regular}},
        {{"b", 1, EntryType::regular}, {"a", 2, EntryType::regular}},
        {{"a", 1, EntryType::regular}, {"a", 2, EntryType::regular}},
        {{"a", 1, EntryType::none}},
        {{"a", 1, static_cast<EntryType>(77)}},
    };
    for (const auto& names : lists) {
        TakenOver taken_over;
        taken_over.names = names;
        auto files = open(taken_over);
        ASSERT_TRUE(files);
        EXPECT_FALSE((*files)->list(0));
    }
}

TEST_F(ConfinedTest, IsGivenTheRoomThatItsCallerHas)
{
    TakenOver taken_over;
    taken_over.added = 16;
    auto files = open(taken_over);
    ASSERT_TRUE(files);
    std::array<char, 64> room = {};

    const auto got = (*files)->read(0, 0, std::span(room).first(32));

    EXPECT_FALSE(got);
    EXPECT_THAT(room, ::testing::Each(0));
}

TEST_F(ConfinedTest, IsNotHeardAfterAnAnswerThatIsTooLong)
{
    TakenOver taken_over;
    taken_over.names = {{std::string(largest_answer, 'a'), 1, rootfs::EntryType::regular}};
    auto files = open(taken_over);
    ASSERT_TRUE(files);

    EXPECT_FALSE((*files)->list(0));
    EXPECT_FALSE((*files)->root());
}

TEST(MessagesTest, TakesNoVariablesThatCannotBe)
{
    EXPECT_THAT(*read_variables(to_text(std::vector<std::string>{"A=b", "C="})),
                ::testing::ElementsAre("A=b", "C="));
    std::string many;
    for (std::size_t i = 0; i <= most_image_variables; ++i)
        many += std::string("A=\0", 3);
    for (const std::string& text :
         {std::string("A=b"), std::string("=b\0", 3), std::string("A\0", 2), std::string("\0", 1),
          std::string("A\0B=\0", 5), many})
        EXPECT_FALSE(read_variables(text)) << text.size();
}

TEST_F(ConfinedTest, SaysWhyItCannotBeOpened)
{
    const auto files = open_confined(image_.get(), [](int) -> Result<std::unique_ptr<FileSystem>> {
        return error_of(EOPNOTSUPP);
    });
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().code(), Errc::requirement);
}

} // namespace
} // namespace gpucontainer::image
