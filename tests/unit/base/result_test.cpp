// SPDX-License-Identifier: MIT
#include "base/result.hpp"

#include "base/try.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace gpucontainer {
namespace {

Result<int> fail() { return Error::from_errno(ENOENT, "open", Errc::driver); }

Result<int> fail_with_steps()
{
    GPUCTR_TRY(const int value, fail(), "clone {}", "libcuda.so.1");
    return value;
}

Result<void> fail_further_out()
{
    GPUCTR_CHECK(fail_with_steps(), "apply");
    return {};
}

TEST(Error, MessageNamesTheStepsOutermostFirst)
{
    const auto result = fail_further_out();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(),
              "apply: clone libcuda.so.1: open: No such file or directory");
    EXPECT_EQ(result.error().step(), "apply");
    EXPECT_EQ(result.error().cause(), "open: No such file or directory");
    EXPECT_EQ(result.error().os_error(), ENOENT);
    EXPECT_EQ(result.error().code(), Errc::driver);
}

TEST(Error, ADeniedCallIsAPermissionError)
{
    EXPECT_EQ(Error::from_errno(EPERM, "mount", Errc::apply).code(), Errc::permission);
    EXPECT_EQ(Error::from_errno(EIO, "mount", Errc::apply).code(), Errc::apply);
}

TEST(Error, KeepsObjectAndHint)
{
    const Error error =
        Error(Errc::usage, "no such GPU").with_object("7").with_hint("GPUs are 0 to 3");

    EXPECT_EQ(error.object(), "7");
    EXPECT_EQ(error.hint(), "GPUs are 0 to 3");
}

TEST(Error, IsAboutTheArgumentNamedClosestToTheCause)
{
    EXPECT_STREQ(fail().error().argument(), "");
    EXPECT_STREQ(about("outer", fail()).error().argument(), "outer");
    EXPECT_STREQ(about("outer", about("inner", fail())).error().argument(), "inner");
    EXPECT_TRUE(about("outer", Result<void>()));
}

} // namespace
} // namespace gpucontainer
