// SPDX-License-Identifier: MIT
#include "base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gpucontainer::base {
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

} // namespace
} // namespace gpucontainer::base
