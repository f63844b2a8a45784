// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <array>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer {
namespace {

/// A limit of this process while it lives.
class Limited {
public:
    Limited(int resource, rlim_t value) : resource_(resource)
    {
        (void)::getrlimit(kind(), &before_);
        const rlimit limit = {value, before_.rlim_max};
        (void)::setrlimit(kind(), &limit);
    }
    Limited(const Limited&) = delete;
    Limited& operator=(const Limited&) = delete;
    ~Limited() { (void)::setrlimit(kind(), &before_); }

private:
    __rlimit_resource kind() const { return static_cast<__rlimit_resource>(resource_); }

    int resource_;
    rlimit before_ = {};
};

/// A process with limits, which handles no signal of them.
class LimitsTest : public testing::Test {
protected:
    static constexpr const char* place = "/tmp/gpuctr-limits";

    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        (void)::mkdir(place, 0755);
        ASSERT_EQ(::mount("test", place, "tmpfs", 0, "mode=0755"), 0);
        ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK);
        options_.state_dir = state_.c_str();
    }

    void TearDown() override
    {
        gpuctr_host_free(host_);
        (void)::umount2(place, MNT_DETACH);
        (void)::rmdir(place);
    }

    /// Status of an apply that writes all that there is to be written.
    gpuctr_status apply(int resource, rlim_t limit) const
    {
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.write = GPUCTR_WRITE_ALWAYS;
        gpuctr_plan* plan = nullptr;
        EXPECT_EQ(gpuctr_plan_create(host_, &request, root_->fd(), &plan, nullptr), GPUCTR_OK);
        gpuctr_status status = GPUCTR_OK;
        {
            const Limited limited(resource, limit);
            status = gpuctr_plan_apply(plan, root_->fd(), &options_, nullptr, nullptr);
        }
        gpuctr_plan_free(plan);
        return status;
    }

    gpuctr_status undo() const
    {
        gpuctr_undo_options options = GPUCTR_UNDO_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        return gpuctr_rootfs_undo(root_->fd(), &options, nullptr, nullptr);
    }

    void expect_all_or_nothing(int resource, rlim_t limit) const
    {
        const auto before = root_->listing();
        if (apply(resource, limit) == GPUCTR_OK) {
            EXPECT_EQ(undo(), GPUCTR_OK);
        }
        EXPECT_EQ(root_->listing(), before) << limit;
        for (const auto& left : std::filesystem::recursive_directory_iterator(state_))
            ADD_FAILURE() << left.path() << " is left with " << limit;
    }

    std::unique_ptr<test::ContainerRoot> root_;
    std::string state_ = std::string(place) + "/state";
    gpuctr_host* host_ = nullptr;
    gpuctr_apply_options options_ = GPUCTR_APPLY_OPTIONS_INIT;
};

TEST_F(LimitsTest, ItsCallerIsNotEndedByASignalWhenAFileGetsTooLong)
{
    root_ = std::make_unique<test::ContainerRoot>(std::string(place) + "/root");
    std::filesystem::create_directory(state_);
    for (const rlim_t limit : std::array<rlim_t, 8>{0, 1, 50, 500, 1000, 5000, 20'000, 1'000'000})
        expect_all_or_nothing(RLIMIT_FSIZE, limit);
    EXPECT_NE(apply(RLIMIT_FSIZE, 0), GPUCTR_OK);
    ASSERT_EQ(apply(RLIMIT_FSIZE, RLIM_INFINITY), GPUCTR_OK);

    const Limited none(RLIMIT_FSIZE, 0);
    EXPECT_EQ(undo(), GPUCTR_OK);
}

TEST_F(LimitsTest, LeavesNothingBehindWhereDescriptorsRunOut)
{
    root_ = std::make_unique<test::ContainerRoot>(std::string(place) + "/root");
    std::filesystem::create_directory(state_);
    const int highest = ::dup(0);
    ::close(highest);
    const auto next = static_cast<rlim_t>(highest);
    for (rlim_t limit = next; limit < next + 40; ++limit)
        expect_all_or_nothing(RLIMIT_NOFILE, limit);
    EXPECT_NE(apply(RLIMIT_NOFILE, next), GPUCTR_OK);
}

} // namespace
} // namespace gpucontainer
