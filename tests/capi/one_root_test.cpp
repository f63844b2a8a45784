// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.h>

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <sys/mount.h>

namespace gpucontainer {
namespace {

/// A program that opens a root directory once, which a set-up then binds on itself.
class OneRootTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        std::filesystem::create_directory(state_);
        root_ = std::make_unique<test::ContainerRoot>("/tmp/gpuctr-one-root");
        // What is mounted on a shared mount shows elsewhere: it is bound on itself.
        ASSERT_EQ(::mount(nullptr, root_->path().c_str(), nullptr, MS_SHARED, nullptr), 0);
        ASSERT_EQ(gpuctr_host_open(nullptr, &host_, nullptr), GPUCTR_OK);
        options_.state_dir = state_.c_str();
    }

    void TearDown() override
    {
        gpuctr_host_free(host_);
        std::filesystem::remove_all(state_);
    }

    std::uint32_t apply(const char* devices) const
    {
        std::uint32_t outcome = ~std::uint32_t{0};
        EXPECT_EQ(apply(devices, options_.flags, &outcome), GPUCTR_OK);
        return outcome;
    }

    gpuctr_status apply(const char* devices, std::uint32_t flags, std::uint32_t* outcome) const
    {
        gpuctr_request request = GPUCTR_REQUEST_INIT;
        request.devices = devices;
        if ((flags & GPUCTR_APPLY_WITHOUT_JOURNAL) != 0)
            request.write = GPUCTR_WRITE_NEVER;
        gpuctr_plan* plan = nullptr;
        EXPECT_EQ(gpuctr_plan_create(host_, &request, root_->fd(), &plan, nullptr), GPUCTR_OK);
        gpuctr_apply_options options = options_;
        options.flags = flags;
        const auto status = gpuctr_plan_apply(plan, root_->fd(), &options, outcome, nullptr);
        gpuctr_plan_free(plan);
        return status;
    }

    std::string origin() const
    {
        gpuctr_setup_list_options options = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        gpuctr_setup_list* list = nullptr;
        EXPECT_EQ(gpuctr_setup_list_open(root_->fd(), &options, &list, nullptr), GPUCTR_OK);
        std::string found;
        for (std::size_t i = 0; i < gpuctr_setup_list_count(list); ++i) {
            const gpuctr_setup* const setup = gpuctr_setup_list_at(list, i);
            found += gpuctr_setup_origin(setup);
            EXPECT_EQ(gpuctr_setup_finding_count(setup), 0U);
        }
        gpuctr_setup_list_free(list);
        return found;
    }

    /// Kinds and targets of what undo takes away.
    std::set<std::string> items() const
    {
        gpuctr_setup_list_options options = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        gpuctr_setup_list* list = nullptr;
        EXPECT_EQ(gpuctr_setup_list_open(root_->fd(), &options, &list, nullptr), GPUCTR_OK);
        std::set<std::string> found;
        for (std::size_t i = 0; i < gpuctr_setup_list_count(list); ++i) {
            const gpuctr_setup* const setup = gpuctr_setup_list_at(list, i);
            const std::size_t count = gpuctr_setup_item_count(setup);
            EXPECT_EQ(gpuctr_setup_item_at(setup, count), nullptr);
            for (std::size_t j = 0; j < count; ++j) {
                const gpuctr_item* const item = gpuctr_setup_item_at(setup, j);
                found.insert(std::string(gpuctr_item_kind(item)) + " " + gpuctr_item_target(item));
            }
        }
        gpuctr_setup_list_free(list);
        return found;
    }

    /// What the getters say of one of them: a kind and a target, then the rest.
    std::string item(const std::string& wanted) const
    {
        gpuctr_setup_list_options options = GPUCTR_SETUP_LIST_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        gpuctr_setup_list* list = nullptr;
        EXPECT_EQ(gpuctr_setup_list_open(root_->fd(), &options, &list, nullptr), GPUCTR_OK);
        const gpuctr_setup* const setup = gpuctr_setup_list_at(list, 0);
        std::string found;
        for (std::size_t i = 0; i < gpuctr_setup_item_count(setup); ++i) {
            const gpuctr_item* const item = gpuctr_setup_item_at(setup, i);
            if (std::string(gpuctr_item_kind(item)) + " " + gpuctr_item_target(item) != wanted)
                continue;
            const auto* const bytes = static_cast<const char*>(gpuctr_item_content(item));
            found = fmt::format(
                "{} {:o} '{}' {} {}", gpuctr_item_place(item), gpuctr_item_mode(item),
                gpuctr_item_source(item), gpuctr_item_required(item),
                bytes == nullptr ? "none" : std::string(bytes, gpuctr_item_content_size(item)));
        }
        gpuctr_setup_list_free(list);
        return found;
    }

    int undo(std::uint32_t flags = 0) const
    {
        gpuctr_undo_options options = GPUCTR_UNDO_OPTIONS_INIT;
        options.state_dir = state_.c_str();
        options.flags = flags;
        int found = -1;
        EXPECT_EQ(gpuctr_rootfs_undo(root_->fd(), &options, &found, nullptr), GPUCTR_OK);
        return found;
    }

    const std::string state_ = "/tmp/gpuctr-one-root-state";
    std::unique_ptr<test::ContainerRoot> root_;
    gpuctr_host* host_ = nullptr;
    gpuctr_apply_options options_ = GPUCTR_APPLY_OPTIONS_INIT;
};

TEST_F(OneRootTest, ItemsOfASetUpSayNothingThatTheJournalDoesNotHave)
{
    ASSERT_EQ(apply("0"), GPUCTR_APPLIED);

    EXPECT_EQ(item("directory /etc/OpenCL"), "created 755 '' 0 none");
    EXPECT_EQ(item("symlink /usr/bin/nvidia-smi"),
              "created 0 '/usr/lib/gpuctr/bin/nvidia-smi' 0 none");
    EXPECT_EQ(item("file /etc/OpenCL/vendors/nvidia.icd"),
              "created 644 '' 0 libnvidia-opencl.so.1\n");
    EXPECT_EQ(item("file /dev/nvidia0"), "created 444 '' 0 ");
    EXPECT_EQ(item("device /dev/nvidia0"), "there 0 '' 0 none");
    EXPECT_EQ(item("ldcache /etc/ld.so.cache"), "created 0 '' 0 none");
}

TEST_F(OneRootTest, ADryRunTellsTheOutcomeAndChangesNothing)
{
    std::uint32_t outcome = ~std::uint32_t{0};
    EXPECT_EQ(apply("0", GPUCTR_APPLY_DRY_RUN, &outcome), GPUCTR_OK);
    EXPECT_EQ(outcome, GPUCTR_APPLIED);
    EXPECT_TRUE(std::filesystem::is_empty(state_));
    EXPECT_EQ(undo(GPUCTR_UNDO_DRY_RUN), 0);

    ASSERT_EQ(apply("0"), GPUCTR_APPLIED);
    EXPECT_EQ(apply("0", GPUCTR_APPLY_DRY_RUN, &outcome), GPUCTR_OK);
    EXPECT_EQ(outcome, GPUCTR_UNCHANGED);
    EXPECT_EQ(apply("1", GPUCTR_APPLY_DRY_RUN, &outcome), GPUCTR_OK);
    EXPECT_EQ(outcome, GPUCTR_REPLACED);
    EXPECT_EQ(apply("1", GPUCTR_APPLY_DRY_RUN | GPUCTR_APPLY_NO_REPLACE, &outcome),
              GPUCTR_E_EXISTS);
    EXPECT_EQ(undo(GPUCTR_UNDO_DRY_RUN), 1);
    EXPECT_EQ(origin(), "here");
    EXPECT_EQ(apply("0"), GPUCTR_UNCHANGED);
    EXPECT_EQ(undo(), 1);
}

TEST_F(OneRootTest, ASetUpHasTheItemsThatUndoTakesAway)
{
    EXPECT_TRUE(items().empty());
    ASSERT_EQ(apply("0"), GPUCTR_APPLIED);
    const auto found = items();
    for (const char* const item : {"mount /usr/lib/gpuctr", "device /dev/nvidia0",
                                   "symlink /usr/bin/nvidia-smi", "ldcache /etc/ld.so.cache"})
        EXPECT_EQ(found.count(item), 1U) << item;
    EXPECT_EQ(found.count("device /dev/nvidia1"), 0U);
    EXPECT_EQ(undo(), 1);
    EXPECT_TRUE(items().empty());
}

TEST_F(OneRootTest, IsWhatItsDescriptorNamesBeforeAndAfter)
{
    const auto before = root_->listing();

    EXPECT_EQ(apply("0"), GPUCTR_APPLIED);
    EXPECT_EQ(origin(), "here");
    EXPECT_EQ(apply("0"), GPUCTR_UNCHANGED);
    EXPECT_EQ(apply("1"), GPUCTR_REPLACED);
    EXPECT_EQ(origin(), "here");
    EXPECT_EQ(undo(), 1);

    EXPECT_EQ(root_->listing(), before);
    EXPECT_EQ(origin(), "");
    EXPECT_EQ(undo(), 0);
}

/// The descriptor lies below the bind of the set-up, where the plan finds nothing.
TEST_F(OneRootTest, IsNotSetUpASecondTimeWithoutAJournal)
{
    const auto before = root_->listing();
    EXPECT_EQ(apply("0"), GPUCTR_APPLIED);

    for (const std::uint32_t flags :
         {GPUCTR_APPLY_WITHOUT_JOURNAL, GPUCTR_APPLY_WITHOUT_JOURNAL | GPUCTR_APPLY_NO_REPLACE})
        for (const char* devices : {"0", "1"})
            EXPECT_EQ(apply(devices, flags, nullptr), GPUCTR_E_EXISTS);

    EXPECT_EQ(origin(), "here");
    EXPECT_EQ(undo(), 1);
    EXPECT_EQ(root_->listing(), before);
}

} // namespace
} // namespace gpucontainer
