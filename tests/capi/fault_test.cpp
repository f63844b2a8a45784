// SPDX-License-Identifier: MIT
// Each system call of the library fails in turn, in a process that goes on. For
// `inject -m`, which fails them; without it nothing does, and that is an error.
#include "container_root.hpp"
#include "faults/mark.h"
#include "support/mount_table.hpp"

#include <gpucontainer/gpucontainer.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <string_view>
#include <unistd.h>

namespace gpucontainer {
namespace {

constexpr std::array errors = {ENOMEM, EPERM, EIO, ENOSYS, EINTR};

std::vector<std::string> open_descriptors()
{
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error);
        // The iterator's own descriptor shows among the others.
        if (!error && target.string().find("/fd") == std::string::npos)
            found.push_back(entry.path().filename().string() + " " + target.string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

class FaultTest : public testing::TestWithParam<std::uint32_t> {
protected:
    using Prepared = std::unique_ptr<gpuctr_prepared, decltype(&gpuctr_prepared_free)>;

    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        root_ = std::make_unique<test::ContainerRoot>(directory_);
        how_.backend = GetParam();
        ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK);
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.devices = "0";
        ASSERT_EQ(gpuctr_plan_create(host_, &request, root_->fd(), &plan_, nullptr), GPUCTR_OK);
        listing_ = root_->listing();
        mounts_ = test::mount_table();
        descriptors_ = open_descriptors();
    }

    void TearDown() override
    {
        gpuctr_plan_free(plan_);
        gpuctr_host_free(host_);
        root_.reset();
        (void)::rmdir(directory_.c_str());
    }

    /// Calls `attempt` with each call that it makes failing in turn, and then `check`,
    /// whose own calls do not.
    template <typename Attempt, typename Check>
    void fail_each_call(Attempt attempt, Check check, unsigned long process = 0)
    {
        const char* const all = ::getenv("GPUCTR_TEST_LONG");
        const std::size_t each = all != nullptr && std::string_view(all) == "1" ? errors.size() : 1;
        const char* const every = ::getenv("GPUCTR_FAULT_EVERY");
        const unsigned long step = every != nullptr ? std::strtoul(every, nullptr, 10) : 1;
        unsigned long number = 0;
        for (bool hit = true; hit;) {
            number += step;
            for (std::size_t i = 0; i < each; ++i) {
                const int error = errors.at((number + i) % errors.size());
                SCOPED_TRACE(testing::Message() << "call " << number << " errno " << error);
                (void)fault_mark(number, static_cast<unsigned long>(error), process);
                attempt();
                const long made = fault_mark(0, 0, 0);
                ASSERT_GE(made, 0) << "this test is for `inject -m`";
                hit = static_cast<unsigned long>(made) >= number;
                check();
                ASSERT_FALSE(HasFailure());
            }
        }
        EXPECT_GT(number, 5);
    }

    void expect_untouched() const
    {
        EXPECT_EQ(test::mount_table(), mounts_);
        EXPECT_EQ(root_->listing(), listing_);
        EXPECT_EQ(open_descriptors(), descriptors_);
    }

    Prepared prepare() const
    {
        gpuctr_prepared* prepared = nullptr;
        EXPECT_EQ(gpuctr_plan_prepare(plan_, &how_, &prepared, nullptr), GPUCTR_OK);
        return {prepared, &gpuctr_prepared_free};
    }

    const std::string directory_ = "/tmp/gpuctr-fault." + std::to_string(::getpid());
    std::unique_ptr<test::ContainerRoot> root_;
    gpuctr_host* host_ = nullptr;
    gpuctr_prepare_options how_ = GPUCTR_PREPARE_OPTIONS_INIT;
    gpuctr_plan* plan_ = nullptr;
    std::vector<std::string> listing_;
    std::vector<std::string> mounts_;
    std::vector<std::string> descriptors_;
};

TEST_P(FaultTest, PrepareGivesEverythingOrNothing)
{
    for (const unsigned long process : {0UL, 1UL}) {
        if (process == 1 && GetParam() != GPUCTR_BACKEND_ASSEMBLED)
            continue;
        gpuctr_prepared* prepared = nullptr;
        gpuctr_status status = GPUCTR_OK;
        fail_each_call(
            [&] {
                prepared = nullptr;
                status = gpuctr_plan_prepare(plan_, &how_, &prepared, nullptr);
            },
            [&] {
                EXPECT_EQ(status == GPUCTR_OK, prepared != nullptr);
                gpuctr_prepared_free(prepared);
                expect_untouched();
            },
            process);
    }
}

TEST_P(FaultTest, AttachDoesEverythingOrNothing)
{
    Prepared prepared = prepare();
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;
    gpuctr_status status = GPUCTR_OK;
    fail_each_call([&] { status = gpuctr_prepared_attach(prepared.get(), root_->fd(), &error); },
                   [&] {
                       if (status == GPUCTR_OK) {
                           EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), nullptr),
                                     GPUCTR_OK);
                       } else {
                           EXPECT_NE(error.os_error, 0);
                           EXPECT_STRNE(error.step, "");
                       }
                       prepared.reset();
                       expect_untouched();
                       prepared = prepare();
                   });
}

TEST_P(FaultTest, AnUndoThatFailsIsCompletedByTheNext)
{
    Prepared prepared = prepare();
    ASSERT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), nullptr), GPUCTR_OK);
    gpuctr_status status = GPUCTR_OK;
    fail_each_call(
        [&] { status = gpuctr_prepared_undo(prepared.get(), root_->fd(), nullptr); },
        [&] {
            if (status != GPUCTR_OK) {
                EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), nullptr), GPUCTR_OK);
            }
            prepared.reset();
            expect_untouched();
            prepared = prepare();
            ASSERT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), nullptr), GPUCTR_OK);
        });
    EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), nullptr), GPUCTR_OK);
}

INSTANTIATE_TEST_SUITE_P(, FaultTest,
                         testing::Values(GPUCTR_BACKEND_DETACHED, GPUCTR_BACKEND_ASSEMBLED),
                         [](const auto& test) {
                             return test.param == GPUCTR_BACKEND_DETACHED ? "Detached"
                                                                          : "Assembled";
                         });

} // namespace
} // namespace gpucontainer
