// SPDX-License-Identifier: MIT
#include "program/directory_times.hpp"

#include "program/builder.hpp"

#include "base/file_time.hpp"
#include "program/name_steps.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

namespace gpucontainer::program {
namespace {

class DirectoryTimesTest : public ::testing::Test {
protected:
    void set_time(const char* path, std::int64_t time) const
    {
        const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, base::to_timespec(time)};
        ASSERT_EQ(::utimensat(AT_FDCWD, root_.at(path).c_str(), times.data(), 0), 0);
    }

    std::int64_t time_of(const char* path) const
    {
        struct stat status = {};
        EXPECT_EQ(::stat(root_.at(path).c_str(), &status), 0);
        return base::to_nanoseconds(status.st_mtim);
    }

    test::TempRoot root_;
    base::UniqueFd fd_ = root_.open();
    Failure failure_;
};

TEST_F(DirectoryTimesTest, OneOutOfReachKeepsNoneOfTheOthersFromBeingSettled)
{
    root_.directory("there");
    ProgramBuilder builder;
    const std::string far = "/" + std::string(300, 'a') + "/name"; // ENAMETOOLONG
    for (const std::string& path : {far, std::string("/there/name")}) {
        Operation& operation = builder.add(Step::make_link, path, "target");
        operation.done = 1;
        operation.parent_before = 1;
    }
    const Block block = std::move(builder).build();
    const auto operations = Program(block.get()).operations();

    const std::int64_t now = 100 * base::nanoseconds_per_second;
    set_time("there", now + 5);
    EXPECT_FALSE(settle_times(Program(block.get()), fd_.get(), now, failure_));

    EXPECT_EQ(failure_.os_error, ENAMETOOLONG);
    EXPECT_EQ(failure_.object, far);
    EXPECT_NE(operations[0].flags & not_settled, 0U);
    EXPECT_EQ(operations[1].flags & not_settled, 0U);
    EXPECT_EQ(operations[1].parent_after, now + 5);
}

TEST_F(DirectoryTimesTest, AreKnownWhereTheFileSystemKeepsWholeSeconds)
{
    root_.directory("there");
    ProgramBuilder builder;
    builder.add(Step::make_link, "/there/name", "target").parent_before = 1;
    const Block block = std::move(builder).build();

    const std::int64_t second = 100 * base::nanoseconds_per_second;
    set_time("there", second);
    EXPECT_TRUE(settle_times(Program(block.get()), fd_.get(), second + 7, failure_));

    EXPECT_EQ(Program(block.get()).operations().front().parent_after, second);
}

TEST_F(DirectoryTimesTest, ComeBackWhereNothingIsLeftToBeTakenAway)
{
    root_.directory("there");
    ProgramBuilder builder;
    builder.add(Step::make_link, "/there/name", "target");
    const Block block = std::move(builder).build();
    const Program program(block.get());
    const std::int64_t before = 100 * base::nanoseconds_per_second;
    set_time("there", before);
    ASSERT_TRUE(note_directories(program, fd_.get()));
    set_time("there", before + 5); // a name came and went again
    ASSERT_TRUE(settle_times(program, fd_.get(), before + 1, failure_));

    EXPECT_TRUE(restore_times(program, fd_.get()));

    EXPECT_EQ(time_of("there"), before);
}

TEST_F(DirectoryTimesTest, AreNotGivenToAnotherDirectory)
{
    root_.directory("there");
    ProgramBuilder builder;
    builder.add(Step::make_link, "/there/name", "target").done = 1;
    const Block block = std::move(builder).build();
    const Program program(block.get());
    const std::int64_t before = 100 * base::nanoseconds_per_second;
    set_time("there", before);
    ASSERT_TRUE(note_directories(program, fd_.get()));
    std::filesystem::rename(root_.at("there"), root_.at("elsewhere"));
    root_.directory("there");
    set_time("there", before + 5);

    EXPECT_TRUE(settle_times(program, fd_.get(), before + 1, failure_));
    EXPECT_TRUE(restore_times(program, fd_.get()));
    EXPECT_TRUE(remove_name(program, program.operations().front(), fd_.get(), failure_));

    EXPECT_EQ(time_of("there"), before + 5);
}

} // namespace
} // namespace gpucontainer::program
