// SPDX-License-Identifier: MIT
#include "container_root.hpp"
#include "support/mount_table.hpp"

#include <gpucontainer/gpucontainer.h>

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <memory>
#include <random>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer {
namespace {

using Prepared = std::unique_ptr<gpuctr_prepared, decltype(&gpuctr_prepared_free)>;

class PreparedTest : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        root_ = std::make_unique<test::ContainerRoot>(directory_);
        ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK);
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.devices = "0";
        ASSERT_EQ(gpuctr_plan_create(host_, &request, root_->fd(), &plan_, nullptr), GPUCTR_OK);
        listing_ = root_->listing();
        mounts_ = test::mount_table();
    }

    void TearDown() override
    {
        gpuctr_plan_free(plan_);
        gpuctr_host_free(host_);
        root_.reset();
        (void)::rmdir(directory_.c_str());
    }

    Prepared prepare() const
    {
        gpuctr_prepare_options how = GPUCTR_PREPARE_OPTIONS_INIT;
        how.backend = GetParam();
        gpuctr_prepared* prepared = nullptr;
        gpuctr_error* error = nullptr;
        EXPECT_EQ(gpuctr_plan_prepare(plan_, &how, &prepared, &error), GPUCTR_OK)
            << gpuctr_error_message(error);
        return {prepared, &gpuctr_prepared_free};
    }

    void expect_untouched() const
    {
        EXPECT_EQ(test::mount_table(), mounts_);
        EXPECT_EQ(root_->listing(), listing_);
    }

    const std::string directory_ = "/tmp/gpuctr-prepared." + std::to_string(::getpid());
    std::unique_ptr<test::ContainerRoot> root_;
    gpuctr_host* host_ = nullptr;
    gpuctr_plan* plan_ = nullptr;
    std::vector<std::string> listing_;
    std::vector<std::string> mounts_;
};

TEST_P(PreparedTest, IsRolledBackByFreeingIt)
{
    prepare().reset();

    expect_untouched();
}

TEST_P(PreparedTest, IsAttachedAndUndoneInOneProcess)
{
    const Prepared prepared = prepare();
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;

    ASSERT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), &error), GPUCTR_OK)
        << error.step << " " << error.object;
    struct stat node = {};
    EXPECT_EQ(::stat(root_->at("/dev/nvidia0").c_str(), &node), 0);
    EXPECT_EQ(node.st_rdev, ::makedev(195, 0));
    EXPECT_EQ(::access(root_->at("/usr/lib/gpuctr/lib64/libcuda.so.1").c_str(), R_OK), 0);
    EXPECT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), &error), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), &error), GPUCTR_OK);

    expect_untouched();
    EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), &error), GPUCTR_OK);
}

TEST_P(PreparedTest, UndoWithoutAnAttachDoesNothing)
{
    const Prepared prepared = prepare();

    EXPECT_EQ(gpuctr_prepared_undo(prepared.get(), root_->fd(), nullptr), GPUCTR_OK);

    expect_untouched();
}

TEST_P(PreparedTest, RefusesASharedMount)
{
    const Prepared prepared = prepare();
    ASSERT_EQ(::mount(nullptr, root_->path().c_str(), nullptr, MS_SHARED, nullptr), 0);
    mounts_ = test::mount_table();
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;

    EXPECT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), &error), GPUCTR_E_ROOTFS)
        << error.step;

    EXPECT_EQ(error.status, GPUCTR_E_ROOTFS);
    EXPECT_EQ(error.os_error, EINVAL);
    EXPECT_STREQ(error.object, "/usr/lib/gpuctr");
    expect_untouched();
}

TEST_P(PreparedTest, RefusesARootThatChangedMeanwhile)
{
    const Prepared prepared = prepare();
    ASSERT_EQ(::mkdir(root_->at("/usr/local/nvidia").c_str(), 0755), 0);
    listing_ = root_->listing();
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;

    EXPECT_EQ(gpuctr_prepared_attach(prepared.get(), root_->fd(), &error), GPUCTR_E_ROOTFS);

    EXPECT_EQ(error.os_error, EEXIST);
    EXPECT_STREQ(error.object, "/usr/local/nvidia");
    expect_untouched();
}

TEST_P(PreparedTest, RefusesMissingArguments)
{
    const Prepared prepared = prepare();
    gpuctr_attach_error error = GPUCTR_ATTACH_ERROR_INIT;

    EXPECT_EQ(gpuctr_prepared_attach(prepared.get(), -1, &error), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_prepared_attach(nullptr, root_->fd(), nullptr), GPUCTR_E_USAGE);
    EXPECT_EQ(gpuctr_prepared_undo(nullptr, root_->fd(), nullptr), GPUCTR_E_USAGE);

    EXPECT_EQ(error.status, GPUCTR_E_USAGE);
    expect_untouched();
}

/// The receiving side of a prepared plan: its bytes and its descriptors.
class AdoptTest : public PreparedTest {
protected:
    void SetUp() override
    {
        PreparedTest::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        prepared_ = prepare();
        const auto* bytes =
            static_cast<const unsigned char*>(gpuctr_prepared_data(prepared_.get()));
        bytes_.assign(bytes, bytes + gpuctr_prepared_size(prepared_.get()));
    }

    /// Adopts a copy of the bytes, attaches and undoes it, whatever that gives.
    /// The copy has no room to spare, for the sanitizer's sake.
    gpuctr_status use(const std::vector<unsigned char>& bytes) const
    {
        std::vector<std::uint64_t> buffer((bytes.size() + 7) / 8);
        std::memcpy(buffer.data(), bytes.data(), bytes.size());
        std::vector<int> fds;
        for (std::size_t i = 0; i < gpuctr_prepared_fd_count(prepared_.get()); ++i)
            fds.push_back(::fcntl(gpuctr_prepared_fd_at(prepared_.get(), i), F_DUPFD_CLOEXEC, 0));
        const Prepared adopted(
            gpuctr_prepared_adopt(buffer.data(), bytes.size(), fds.data(), fds.size()),
            &gpuctr_prepared_free);
        if (!adopted) {
            for (const int fd : fds)
                (void)::close(fd);
            return GPUCTR_E_USAGE;
        }
        const gpuctr_status attached = gpuctr_prepared_attach(adopted.get(), root_->fd(), nullptr);
        (void)gpuctr_prepared_undo(adopted.get(), root_->fd(), nullptr);
        return attached;
    }

    void start_again()
    {
        TearDown();
        prepared_.reset();
        PreparedTest::SetUp();
        prepared_ = prepare();
    }

    Prepared prepared_ = {nullptr, &gpuctr_prepared_free};
    std::vector<unsigned char> bytes_;
};

TEST_P(AdoptTest, TakesWhatItGaveOut)
{
    EXPECT_EQ(use(bytes_), GPUCTR_OK);

    expect_untouched();
}

TEST_P(AdoptTest, RefusesAnotherNumberOfDescriptors)
{
    const std::vector<int> none(gpuctr_prepared_fd_count(prepared_.get()) + 1, -1);
    std::vector<std::uint64_t> buffer((bytes_.size() + 7) / 8);
    std::memcpy(buffer.data(), bytes_.data(), bytes_.size());

    EXPECT_EQ(gpuctr_prepared_adopt(buffer.data(), bytes_.size(), none.data(), none.size()),
              nullptr);
    EXPECT_EQ(gpuctr_prepared_adopt(buffer.data(), bytes_.size(), none.data(), none.size() - 2),
              nullptr);
    EXPECT_EQ(gpuctr_prepared_adopt(buffer.data(), bytes_.size(), nullptr, none.size() - 1),
              nullptr);
    EXPECT_EQ(gpuctr_prepared_adopt(nullptr, 0, nullptr, 0), nullptr);
}

TEST_P(AdoptTest, RefusesEveryShorterBuffer)
{
    for (std::size_t size = 1; size < bytes_.size(); size += size < 256 ? 1 : 97) {
        std::vector<unsigned char> part(bytes_.begin(),
                                        bytes_.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(use(part), GPUCTR_E_USAGE) << size;
    }
    expect_untouched();
}

TEST_P(AdoptTest, SurvivesEveryValueInItsHeader)
{
    constexpr std::size_t header = 40;
    for (std::size_t offset = 0; offset < header; ++offset)
        for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            auto bytes = bytes_;
            bytes[offset] = static_cast<unsigned char>(value);
            (void)use(bytes);
        }
    (void)use(bytes_);
}

TEST_P(AdoptTest, SurvivesRandomBytes)
{
    std::mt19937 random(20240607); // NOLINT(cert-msc51-cpp): the same on every run
    int adopted = 0;
    for (int i = 0; i < 400; ++i) {
        auto bytes = bytes_;
        const auto changes = 1 + random() % 4;
        for (std::size_t n = 0; n < changes; ++n)
            bytes[random() % bytes.size()] ^= static_cast<unsigned char>(1U << (random() % 8));
        if (use(bytes) != GPUCTR_E_USAGE)
            ++adopted;
        if (i % 20 == 19)
            start_again();
    }
    EXPECT_GT(adopted, 50) << "most mutations were refused at once and tested nothing";
}

/// Without detached mounts there is one phase only.
class OnePhaseTest : public PreparedTest {};

TEST_P(OnePhaseTest, IsRefusedWhereThereAreTwo)
{
    gpuctr_prepare_options how = GPUCTR_PREPARE_OPTIONS_INIT;
    how.backend = GetParam();
    gpuctr_stage_options stage = GPUCTR_STAGE_OPTIONS_INIT;
    stage.backend = GetParam();
    gpuctr_prepared* prepared = nullptr;
    gpuctr_error* error = nullptr;

    EXPECT_EQ(gpuctr_plan_prepare(plan_, &how, &prepared, &error), GPUCTR_E_REQUIREMENT);
    EXPECT_STREQ(gpuctr_error_message(error), "this kernel has no detached mounts");
    EXPECT_STRNE(gpuctr_error_hint(error), "");
    gpuctr_error_free(error);
    error = nullptr;
    EXPECT_EQ(gpuctr_plan_stage(plan_, "/run/gpuctr-tree-test", &stage, nullptr, &error),
              GPUCTR_E_REQUIREMENT);
    gpuctr_error_free(error);

    EXPECT_EQ(prepared, nullptr);
    expect_untouched();
}

TEST_P(OnePhaseTest, GoesWithoutAJournalOnlyAlone)
{
    gpuctr_apply_options options = GPUCTR_APPLY_OPTIONS_INIT;
    options.pidfd = ::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const std::uint32_t flags :
         {GPUCTR_APPLY_WITHOUT_JOURNAL | GPUCTR_APPLY_IN_PROCESS, GPUCTR_APPLY_OVER_COPIES}) {
        options.flags = flags;
        EXPECT_EQ(gpuctr_plan_apply(plan_, root_->fd(), &options, nullptr, nullptr),
                  GPUCTR_E_USAGE);
    }
    ::close(options.pidfd);

    expect_untouched();
}

INSTANTIATE_TEST_SUITE_P(, OnePhaseTest, testing::Values(GPUCTR_BACKEND_LEGACY));

const auto backends = testing::Values(GPUCTR_BACKEND_DETACHED, GPUCTR_BACKEND_ASSEMBLED);
const auto backend_name = [](const auto& test) {
    return test.param == GPUCTR_BACKEND_DETACHED ? "Detached" : "Assembled";
};
INSTANTIATE_TEST_SUITE_P(, PreparedTest, backends, backend_name);
INSTANTIATE_TEST_SUITE_P(, AdoptTest, backends, backend_name);

} // namespace
} // namespace gpucontainer
