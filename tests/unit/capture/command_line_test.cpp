// SPDX-License-Identifier: MIT
#include "capture/command_line.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::capture {
namespace {

std::string without(std::string_view text)
{
    return without_values(text, [](std::string_view module) { return module == "nvidia_drm"; });
}

TEST(CommandLineTest, WhatMattersForGpusStays)
{
    for (const std::string text :
         {"nvidia-drm.modeset=1", "nvidia_drm.fbdev=\"a b\"", "pci=realloc",
          "pcie_aspm.policy=performance", "iommu=pt", "intel_iommu=on", "iommu.passthrough=1",
          "vfio-pci.ids=10de:2330", "modprobe.blacklist=nouveau", "module_blacklist=nouveau",
          "quiet nokaslr"})
        EXPECT_EQ(without(text), text + "\n");
}

TEST(CommandLineTest, OtherValuesDoNotLeaveTheHost)
{
    EXPECT_EQ(without(" root=UUID=1  pw=\"a b\" \"x y=z\" BOOTIF=01-aa nvidia_drm=1\n"),
              "root=... pw=... \"x y=... BOOTIF=... nvidia_drm=...\n");
    EXPECT_EQ(without("quiet -- --token=d e"), "quiet\n");
    EXPECT_EQ(without(""), "\n");
}

TEST(CommandLineTest, OnlyModulesThatMatterHaveTheirValues)
{
    EXPECT_EQ(without("talos.config=https://10.0.0.1/m?token=a harvester.token=b "
                      "netconsole.netconsole=6665@10.0.0.5/eth0 nfs.nfs4_unique_id=gpu017-corp "
                      "site.iommu=c .x=d xe_site.x=e \"drm.x=f g\""),
              "talos.config=... harvester.token=... netconsole.netconsole=... "
              "nfs.nfs4_unique_id=... site.iommu=... .x=... xe_site.x=... \"drm.x=...\n");
}

} // namespace
} // namespace gpucontainer::capture
