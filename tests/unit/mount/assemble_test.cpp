// SPDX-License-Identifier: MIT
#include "mount/assemble.hpp"

#include "mount/calls.hpp"
#include "mount/facts.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

/// In a mount namespace of its own, with each backend that detaches mounts.
class AssembleTest : public ::testing::TestWithParam<Backend> {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        if (!require_backend(GetParam()))
            GTEST_SKIP() << "the kernel lacks it";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        base_.reset(new_tmpfs(bench_, nullptr));
        ASSERT_EQ(::mkdirat(base_.get(), "place", 0755), 0);
        branches_.push_back({UniqueFd(new_tmpfs(bench_, nullptr)), "place"});
    }

    const Bench bench_ = {GetParam()};
    UniqueFd base_;
    std::vector<Branch> branches_;
};

TEST_P(AssembleTest, PutsMountsOntoEachOther)
{
    const auto assembled = assemble(bench_, std::move(base_), branches_, {"place"});

    ASSERT_TRUE(assembled) << assembled.error().message();
    const UniqueFd place(::openat(assembled->tree.get(), "place", O_PATH | O_CLOEXEC));
    EXPECT_TRUE(is_mount_root(place.get()));
    ASSERT_EQ(assembled->parts.size(), 1U);
    EXPECT_TRUE(is_mount_root(assembled->parts.front().get()));
}

TEST_P(AssembleTest, SaysWhichMountCannotBePut)
{
    branches_.push_back({UniqueFd(new_tmpfs(bench_, nullptr)), "missing"});

    const auto assembled = assemble(bench_, std::move(base_), branches_, {});

    ASSERT_FALSE(assembled);
    EXPECT_EQ(assembled.error().message(), "put missing into the tree: No such file or directory");
}

TEST_P(AssembleTest, LeavesNoDescriptorOpenThatItMadeInVain)
{
    const int lowest = ::dup(base_.get());
    ::close(lowest);

    ASSERT_FALSE(assemble(bench_, UniqueFd(::dup(base_.get())), branches_, {"place", "missing"}));

    const UniqueFd next(::dup(base_.get()));
    EXPECT_EQ(next.get(), lowest);
}

INSTANTIATE_TEST_SUITE_P(, AssembleTest, testing::Values(Backend::detached, Backend::assembled),
                         [](const auto& test) { return std::string(name(test.param)); });

} // namespace
} // namespace gpucontainer::mount
