// SPDX-License-Identifier: MIT
#include "loading/install_command.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::loading {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(InstallCommandTest, IsFollowedWhereItOnlyCallsModprobe)
{
    EXPECT_THAT(parse_install_command("modprobe -i nvidia-current "),
                Optional(ElementsAre(ModprobeCall{"nvidia-current", "", true})));
    EXPECT_THAT(parse_install_command("modprobe nvidia ; modprobe -i nvidia-current-uvm a=1 b=2"),
                Optional(ElementsAre(ModprobeCall{"nvidia", "", false},
                                     ModprobeCall{"nvidia-current-uvm", "a=1 b=2", true})));
    EXPECT_THAT(parse_install_command("/sbin/modprobe -q --ignore-install\ta && modprobe b;"),
                Optional(ElementsAre(ModprobeCall{"a", "", true}, ModprobeCall{"b", "", false})));
}

TEST(InstallCommandTest, IsNotFollowedWhereItDoesMore)
{
    for (const char* const command : {"",
                                      " ; ",
                                      "/bin/false",
                                      "/bin/true",
                                      "modprobe",
                                      "modprobe -i",
                                      "modprobe -r nvidia",
                                      "modprobe --remove nvidia",
                                      "modprobe -C /tmp nvidia",
                                      "modprobe nvidia; touch /x",
                                      "modprobe nvidia || true",
                                      "modprobe nvidia & touch /x",
                                      "modprobe $(touch /x)",
                                      "modprobe `touch /x`",
                                      "modprobe nvidia > /x",
                                      "modprobe 'nvidia'",
                                      "modprobe nvidi?",
                                      "modprobe nvidia\ntouch /x",
                                      "PATH=/tmp modprobe nvidia",
                                      "./modprobe nvidia",
                                      "modprobe nvidia # comment",
                                      "modprobe ~/nvidia",
                                      "exec modprobe nvidia",
                                      "modprobe nvidia | sh",
                                      "modprobe \\nvidia",
                                      "sudo modprobe nvidia"})
        EXPECT_EQ(parse_install_command(command), std::nullopt) << command;
}

} // namespace
} // namespace gpucontainer::loading
