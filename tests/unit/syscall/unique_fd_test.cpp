// SPDX-License-Identifier: MIT
#include "syscall/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

UniqueFd open_null() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesAtTheEndOfItsScope)
{
    int number = -1;
    {
        const UniqueFd fd = open_null();
        number = fd.get();
        ASSERT_TRUE(is_open(number));
    }

    EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MoveAssignmentClosesThePreviousDescriptor)
{
    UniqueFd kept = open_null();
    const int previous = kept.get();
    UniqueFd next = open_null();
    const int number = next.get();

    kept = std::move(next);

    EXPECT_FALSE(is_open(previous));
    EXPECT_EQ(kept.get(), number);
}

TEST(UniqueFd, MoveAssignmentToItselfKeepsTheDescriptor)
{
    UniqueFd fd = open_null();
    const int number = fd.get();
    UniqueFd& same = fd;

    fd = std::move(same);

    EXPECT_EQ(fd.get(), number);
    EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, ClosingLeavesErrnoAlone)
{
    UniqueFd broken(::dup(2));
    ASSERT_EQ(::close(broken.get()), 0);

    errno = ENOTTY;
    broken.reset(); // EBADF inside

    EXPECT_EQ(errno, ENOTTY);
}

/// Standard input, output or error is closed while it lives.
class Closed {
public:
    explicit Closed(int fd) : fd_(fd), saved_(::dup(fd)) { ::close(fd); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    ~Closed()
    {
        ::dup2(saved_, fd_);
        ::close(saved_);
    }

private:
    int fd_;
    int saved_;
};

TEST(UniqueFd, IsNeitherStandardInputNorOutputNorError)
{
    for (const int number : {0, 1, 2}) {
        const Closed closed(number);

        UniqueFd fd = open_null();
        const int first = fd.get();
        fd.reset(::open("/dev/zero", O_RDONLY | O_CLOEXEC));

        EXPECT_GT(first, 2);
        EXPECT_GT(fd.get(), 2);
        EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
        EXPECT_FALSE(is_open(number));
        EXPECT_FALSE(is_open(first));
    }
}

TEST(UniqueFd, IsNoneWhereThereIsNoOtherNumber)
{
    const Closed closed(0);
    rlimit limit = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const int low = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const rlim_t most : {3U, 4U}) { // 3 is open
        const rlimit tight = {most, limit.rlim_max};
        const UniqueFd three(::dup(low));
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
        const int moved = above_standard(low);
        const int error = errno;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

        EXPECT_EQ(moved, -1);
        EXPECT_EQ(error, EMFILE);
        EXPECT_FALSE(is_open(low));
        ASSERT_EQ(::open("/dev/null", O_RDONLY | O_CLOEXEC), low);
    }
    ::close(low);
}

TEST(UniqueFd, TakesOtherNumbersAsTheyAre)
{
    EXPECT_EQ(above_standard(3), 3);
    errno = ENOENT;
    EXPECT_EQ(above_standard(-1), -1);
    EXPECT_EQ(errno, ENOENT);
}

} // namespace
} // namespace gpucontainer::syscall
