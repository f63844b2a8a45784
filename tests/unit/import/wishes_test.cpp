// SPDX-License-Identifier: MIT
#include "import/hook_state.hpp"

#include "base/format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// With a list of variables and one of names below the directory of mounts.
HookState read(const std::string& variables, const std::string& mounts, AcceptedWishes accepted)
{
    const std::string mount =
        mounts.empty() ? ""
                       : base::format(R"({{"destination": "/var/run/nvidia-container-devices/{}",)"
                                      R"( "source": "/dev/null"}})",
                                      mounts);
    return read_hook_config(
        base::format(R"({{"process": {{"env": [{}]}}, "mounts": [{}]}})", variables, mount),
        accepted);
}

TEST(WishesTest, ChannelsToOtherHostsAreHeldToWhatIsAccepted)
{
    const std::string asks = R"("NVIDIA_IMEX_CHANNELS=0", "NVIDIA_VISIBLE_DEVICES=all")";
    EXPECT_THAT(read(asks, "3", by_environment | by_mounts).variables,
                ElementsAre("NVIDIA_IMEX_CHANNELS=0", "NVIDIA_VISIBLE_DEVICES=3"));
    EXPECT_THAT(read(asks, "3", by_mounts).variables, ElementsAre("NVIDIA_VISIBLE_DEVICES=3"));
    EXPECT_THAT(read(asks, "imex/5", by_mounts).variables, ElementsAre("NVIDIA_IMEX_CHANNELS=5"));
    EXPECT_THAT(read(asks, "", by_mounts | by_privileged_environment).variables, IsEmpty());
    EXPECT_THAT(read(asks, "imex/5", by_environment).variables,
                ElementsAre("NVIDIA_IMEX_CHANNELS=0", "NVIDIA_VISIBLE_DEVICES=all"));
}

TEST(WishesTest, AllIsNobodysNameForGpus)
{
    for (const char* value : {"all", "ALL", " all ", "0,all", "none"})
        EXPECT_FALSE(read(base::format("\"NVIDIA_VISIBLE_DEVICES={}\"", value), "", by_environment)
                         .names_gpus)
            << value;
    EXPECT_TRUE(read(R"("NVIDIA_VISIBLE_DEVICES=0")", "", by_environment).names_gpus);
    EXPECT_TRUE(read("", "all", by_mounts).names_gpus);
    EXPECT_FALSE(read(R"("NVIDIA_VISIBLE_DEVICES=0")", "", by_mounts).names_gpus);
}

TEST(WishesTest, NothingAcceptedIsNothingGiven)
{
    const HookState state =
        read(R"("NVIDIA_VISIBLE_DEVICES=0", "AMD_VISIBLE_DEVICES=0", "CUDA_VERSION=1")", "1", 0);
    EXPECT_THAT(state.vendors, IsEmpty());
    EXPECT_EQ(state.refused.size(), 3U);
}

} // namespace
} // namespace gpucontainer::imports
