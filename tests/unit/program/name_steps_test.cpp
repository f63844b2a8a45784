// SPDX-License-Identifier: MIT
#include "program/name_steps.hpp"

#include "program/builder.hpp"

#include "program/parent.hpp"
#include "support/forbidden.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace gpucontainer::program {
namespace {

class NameStepsTest : public ::testing::Test {
protected:
    static Block one(Step step, const char* path, const char* data)
    {
        ProgramBuilder builder;
        builder.add(step, path, data);
        return std::move(builder).build();
    }

    bool is_there(const char* path) const
    {
        struct stat status = {};
        return ::lstat(root_.at(path).c_str(), &status) == 0;
    }

    test::TempRoot root_;
    base::UniqueFd fd_ = root_.open();
    Failure failure_;
};

TEST_F(NameStepsTest, ANameIsTakenBackWhereItsDirectorysTimeMayNotBeSet)
{
    root_.directory("there");
    for (const int error : {EPERM, ENOSYS, EOPNOTSUPP}) {
        const Block block = one(Step::make_link, "/there/name", "target");
        const Program program(block.get());
        Operation& operation = program.operations().front();
        ASSERT_TRUE(make_name(program, operation, fd_.get(), failure_));

        EXPECT_TRUE(test::with_forbidden({SYS_utimensat}, error, [&] {
            return remove_name(program, operation, fd_.get(), failure_) && operation.done == 0;
        })) << error;
        EXPECT_FALSE(is_there("there/name"));
    }
}

TEST_F(NameStepsTest, AnErrorThatMayPassKeepsANameForTheTime)
{
    root_.directory("there");
    const Block block = one(Step::make_link, "/there/name", "target");
    const Program program(block.get());
    Operation& operation = program.operations().front();
    ASSERT_TRUE(make_name(program, operation, fd_.get(), failure_));

    EXPECT_TRUE(test::with_forbidden({SYS_utimensat}, EIO, [&] {
        return !remove_name(program, operation, fd_.get(), failure_) && operation.done == 1;
    }));
}

TEST_F(NameStepsTest, WhatCanNeitherBeCompletedNorRemovedIsRemembered)
{
    root_.directory("there");
    for (const Step step : {Step::make_file, Step::make_directory}) {
        const Block block = one(step, "/there/name", "content");
        const Program program(block.get());
        Operation& operation = program.operations().front();

        EXPECT_TRUE(test::with_forbidden({SYS_fchmod, SYS_unlinkat}, EROFS, [&] {
            (void)::umask(077); // a mode has to be given
            return !make_name(program, operation, fd_.get(), failure_) && operation.done == 1
                   && operation.made.inode != 0;
        }));
        std::filesystem::remove_all(root_.at("there/name"));
    }
}

TEST(FileMarkTest, IsOfOneFileSystem)
{
    const FileMark file = {1, 5, 10, 20};
    const FileMark elsewhere = {2, 5, 10, 20};
    const FileMark none = {1, 0, 0, 0};
    const FileMark none_elsewhere = {2, 0, 0, 0};

    EXPECT_TRUE(same_file(file, file));
    EXPECT_FALSE(same_file(file, elsewhere));
    EXPECT_FALSE(same_file(file, none));
    EXPECT_TRUE(same_file(none, none_elsewhere));
}

} // namespace
} // namespace gpucontainer::program
