// SPDX-License-Identifier: MIT
#include "apply/recovery.hpp"

#include "program/builder.hpp"
#include "program/directory_times.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::apply {

using program::Step;

namespace {

/// A journal of an apply that was cut off, before any of it was done.
class RecoveryTest : public ::testing::Test {
protected:
    RecoveryTest()
    {
        root_.directory("there");
        program::ProgramBuilder builder;
        builder.add(Step::make_directory, "/there/directory");
        builder.add(Step::make_link, "/there/link", "target");
        builder.add(Step::make_file, "/there/file", "content");
        builder.add(Step::make_file, "/there/directory/placeholder");
        journal_.program = std::move(builder).build();
        journal_.since = std::time(nullptr);
        journal_.progress = journal::Progress::begun;
        EXPECT_TRUE(note_directories(program(), fd_.get()));
    }

    program::Program program() const { return program::Program(journal_.program.get()); }

    void make_names()
    {
        root_.directory("there/directory");
        root_.link("there/link", "target");
        root_.file("there/file", "con");
        root_.file("there/directory/placeholder");
    }

    /// How many of the names are taken for ours.
    std::size_t adopted()
    {
        program::Failure failure;
        EXPECT_TRUE(adopt_names(journal_, fd_.get(), failure)) << failure.step;
        std::size_t count = 0;
        for (program::Operation& operation : program().operations())
            count += std::exchange(operation.done, 0);
        return count;
    }

    test::TempRoot root_;
    base::UniqueFd fd_ = root_.open();
    journal::Journal journal_;
};

TEST_F(RecoveryTest, TakesForOursWhatWasMadeAtThatTime)
{
    EXPECT_EQ(adopted(), 0U);
    make_names();
    EXPECT_EQ(adopted(), 4U);
}

TEST_F(RecoveryTest, LeavesWhatWasThereBefore)
{
    make_names();
    journal_.since += 10;
    EXPECT_EQ(adopted(), 0U);
}

TEST_F(RecoveryTest, LeavesWhatCameLater)
{
    make_names();
    journal_.since -= 60;
    EXPECT_EQ(adopted(), 0U);
}

TEST_F(RecoveryTest, LeavesWhatHasAnotherMode)
{
    make_names();
    ASSERT_EQ(::chmod(root_.at("there/directory").c_str(), 0775), 0);
    ASSERT_EQ(::chmod(root_.at("there/file").c_str(), 04644), 0);
    ASSERT_EQ(::chmod(root_.at("there/directory/placeholder").c_str(), 0666), 0);
    EXPECT_EQ(adopted(), 1U); // the link
}

TEST_F(RecoveryTest, LeavesWhatHasAnotherNameToo)
{
    make_names();
    ASSERT_EQ(::link(root_.at("there/file").c_str(), root_.at("other").c_str()), 0);
    EXPECT_EQ(adopted(), 3U);
}

TEST_F(RecoveryTest, LeavesWhatIsInAnotherDirectory)
{
    std::filesystem::rename(root_.at("there"), root_.at("before"));
    root_.directory("there");
    make_names();
    EXPECT_EQ(adopted(), 0U);
}

TEST_F(RecoveryTest, LeavesWhatOthersPutSomethingInto)
{
    make_names();
    root_.file("there/directory/theirs");
    EXPECT_EQ(adopted(), 3U);
}

} // namespace
} // namespace gpucontainer::apply
